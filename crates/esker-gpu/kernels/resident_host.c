/* The kernels of the other stages for the host. */
#include "resident.cu"
