#include "shoal/cluster/messages/sealed_file.h"

#include <span>

#include "shoal/base/math/hash.h"
#include "shoal/cluster/net/text_file.h"

namespace shoal::cluster {
namespace {

constexpr std::string_view kSeal = "# checksum ";  // the last line, for the text before it

std::string seal_of(std::string_view text) {
  return std::string(kSeal) + std::to_string(shoal::hash_of(std::as_bytes(std::span(text)))) + "\n";
}

}  // namespace

Status write_sealed(const std::filesystem::path& path, std::string_view text, FileOptions options) {
  return write_file(path, std::string(text) + seal_of(text), options);
}

Result<std::string> read_sealed(const std::filesystem::path& path) {
  SHOAL_ASSIGN(std::string text, net::read_text(path));
  const size_t seal = text.rfind(kSeal);
  if (seal == text.npos || text.substr(seal) != seal_of(std::string_view(text).substr(0, seal))) {
    return Status(Code::kCorrupt, path.string() + " is damaged: its checksum is wrong");
  }
  text.resize(seal);
  return text;
}

}  // namespace shoal::cluster
