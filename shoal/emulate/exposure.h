// Exposure: channels of a machine that is exposed to the weather.
#pragma once

#include <memory>

#include "shoal/emulate/weather.h"
#include "shoal/net/tls.h"

namespace shoal::emulate {

// Of this worker, or of the coordinator. What comes in is held back, broken off and damaged here;
// what goes out is the others' to hold back. Where a way is cut, nobody gets connected by it.
Result<std::unique_ptr<net::Transport>> make_exposed_transport(const net::Identity& identity,
                                                               net::TlsOptions options,
                                                               std::shared_ptr<Weather> weather,
                                                               int self);

}  // namespace shoal::emulate
