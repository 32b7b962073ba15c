#include "shoal/cluster/net/enrol/token_source.h"

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <system_error>

namespace shoal::net {
namespace {

// The first word: editors and pipes add line breaks.
std::string word_of(std::istream& text) {
  std::string word;
  text >> word;
  return word;
}

}  // namespace

Result<std::string> TokenSource::read(std::istream& input,
                                      const std::function<void(const std::string&)>& warn) const {
  if (!token.empty()) {
    warn("warning: others can see a token on the command line; use --join-file");
    return token;
  }
  if (file == "-") return word_of(input);
  if (!file.empty()) {
    std::ifstream text(file);
    if (text) return word_of(text);
    const std::error_code error(errno, std::generic_category());
    return Status(Code::kNotFound, file + ": cannot read the token: " + error.message());
  }
  const char* const given = std::getenv("SHOAL_TOKEN");
  return std::string(given == nullptr ? "" : given);
}

}  // namespace shoal::net
