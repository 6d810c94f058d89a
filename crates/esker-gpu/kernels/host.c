/* The kernels for the host. */
#include "substep.cu"
