// Tables, for sources that include them by this name.
#pragma once

#include "shoal/base/table.h"
