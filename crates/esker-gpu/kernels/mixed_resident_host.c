/* The kernels of the other stages for the host, with velocities and rows of single precision. */
#define MIXED
#include "resident.cu"
