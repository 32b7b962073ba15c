// The macro by which an operator's file defines its record. ops.h declares it for all other files.
#pragma once

#include "shoal/model/graph/operator.h"

// SHOAL_RECORD(relu) = {...}; The macro declares the constant extern, for external linkage.
// Including ops.h for that would compile every operator anew whenever one is added.
#define SHOAL_RECORD(name)    \
  extern const Operator name; \
  const Operator name
