// What a method of compression did, for scripts and for people.
#pragma once

#include <cstdint>
#include <string>

#include "shoal/base/text/json.h"
#include "shoal/shrink/compress/methods/methods.h"

namespace shoal::compress {

// Where the result was written, and what it was made of.
struct WrittenFile {
  std::string path;
  int64_t bytes = 0;
  size_t examples = 0;  // that were seen
};
Json to_json(const Compressed& result, const Method& method, const WrittenFile& file);
// Some lines.
std::string text_of(const Compressed& result, const Method& method, const WrittenFile& file);

}  // namespace shoal::compress
