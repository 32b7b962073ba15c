#include "token_flags.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <system_error>

namespace shoal::cli {
namespace {

// The first word: editors and pipes add line breaks.
std::string word_of(std::istream& text) {
  std::string word;
  text >> word;
  return word;
}

}  // namespace

void TokenFlags::add_to(Command& command) {
  command.add_option("--join", token_,
                     "Join the cluster that printed this token; others on this machine can see it, "
                     "--join-file keeps it from them");
  command.add_option("--join-file", file_, "The same, with the token in a file; - for stdin");
}

Result<std::string> TokenFlags::read() const {
  if (!token_.empty()) {
    std::fprintf(stderr, "warning: others can see a token on the command line; use --join-file\n");
    return token_;
  }
  if (file_ == "-") return word_of(std::cin);
  if (!file_.empty()) {
    std::ifstream file(file_);
    if (!file) {
      const std::error_code error(errno, std::generic_category());
      return Status(Code::kNotFound, file_ + ": cannot read the token: " + error.message());
    }
    return word_of(file);
  }
  const char* given = std::getenv("SHOAL_TOKEN");
  return std::string(given == nullptr ? "" : given);
}

}  // namespace shoal::cli
