// The macro by which an operator's file defines its record. ops.h declares it for all other files.
#pragma once

#include "shoal/model/graph/operator.h"

// SHOAL_RECORD(relu) = {...};  A constant is seen outside its file only if it was declared extern.
// Including ops.h for that would compile every operator anew whenever one is added.
#define SHOAL_RECORD(name)    \
  extern const Operator name; \
  const Operator name
