/* The stages of a step beside its substeps, for grains that stay on the device. */
#include "primitives.h"
#include "field.h"
#include "pairs.h"
#include "impacts.h"
#include "plan.h"
#include "rows.h"
#include "finish.h"
#include "look.h"
