// TokenFlags: where a command takes the token from by which a device joins a cluster. Other users
// of the machine see a command line, so files, stdin and the environment are the ways to take.
#pragma once

#include <string>

#include "apps/flags/flags.h"
#include "shoal/base/status.h"

namespace shoal::cli {

class TokenFlags {
 public:
  void add_to(Command& command);

  // The token: the first that was given of --join, --join-file ("-" is stdin) and $SHOAL_TOKEN.
  // Empty if none was; a file that is empty gives none.
  Result<std::string> read() const;

 private:
  std::string token_;
  std::string file_;
};

}  // namespace shoal::cli
