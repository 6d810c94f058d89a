/* The substeps of a step: what `esker_solver::block_sweep` computes, with its bits, over blocks of a plan
 * (`blocks.h`), over colours of a flat one (`colours.h`), or with bodies that take turns (`turns.h`).
 */
#include "bodies.h"
#include "blocks.h"
#include "colours.h"
#include "losses.h"
#include "turns.h"
