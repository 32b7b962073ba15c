#include "shoal/shrink/compress/methods/method_facts.h"

#include "shoal/base/text/number_text.h"

namespace shoal::compress {

Json to_json(const Compressed& result, const Method& method, const WrittenFile& file) {
  return {{"output", file.path},
          {"bytes", file.bytes},
          {"examples", file.examples},
          {std::string(method.parts), result.parts},
          {"compressed", result.compressed},
          {"left", result.left},
          {"notes", result.notes}};
}

std::string text_of(const Compressed& result, const Method& method, const WrittenFile& file) {
  std::string text = file.path + ": " + std::to_string(result.compressed) + " of " +
                     std::to_string(result.parts) + " " + std::string(method.parts) + " by " +
                     std::string(method.name) + ", " + std::to_string(file.examples) +
                     " examples seen, " + in_bytes(file.bytes) + "\n";
  for (const std::string& note : result.notes) text += note + "\n";
  for (const std::string& name : result.left) text += "stays as it was: " + name + "\n";
  return text;
}

}  // namespace shoal::compress
