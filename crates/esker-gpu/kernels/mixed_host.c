/* The kernels for the host, with velocities and rows of single precision. */
#define MIXED
#include "substep.cu"
