// Progress bars, for sources that include them by this name.
#pragma once

#include "shoal/base/progress_bar.h"
