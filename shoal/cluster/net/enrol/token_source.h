// TokenSource: where the token is taken from by which a device joins a cluster. Other users of a
// machine see its command lines, so a file, standard input and the environment are the ways to
// take.
#pragma once

#include <functional>
#include <istream>
#include <string>

#include "shoal/base/status.h"

namespace shoal::net {

struct TokenSource {
  std::string token = {};  // itself
  std::string file = {};   // "-": the input

  // The first that is given of the token, the file and $SHOAL_TOKEN. Empty if none is; a file that
  // is empty gives none. `warn` is told of a token that others can see. kNotFound where the file
  // cannot be read.
  Result<std::string> read(std::istream& input,
                           const std::function<void(const std::string& line)>& warn) const;
};

}  // namespace shoal::net
