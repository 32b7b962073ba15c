// TokenSource: where a device reads the token by which it joins a cluster. Other users of a machine
// see its command lines, so it should be a file, standard input or the environment.
#pragma once

#include <functional>
#include <istream>
#include <string>

#include "shoal/base/status.h"

namespace shoal::net {

struct TokenSource {
  std::string token = {};  // itself
  std::string file = {};   // "-": the input

  // The first given of the token, the file and $SHOAL_TOKEN. Empty if none is, or the file is
  // empty. `warn` is called for a token that others can see. kNotFound if the file cannot be read.
  Result<std::string> read(std::istream& input,
                           const std::function<void(const std::string& line)>& warn) const;
};

}  // namespace shoal::net
