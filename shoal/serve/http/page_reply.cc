#include "shoal/serve/http/page_reply.h"

#include <optional>

#include "shoal/model/zoo/embedded.h"
#include "shoal/report/html/assets.h"

namespace shoal::serve {
namespace {

// Nothing from elsewhere, nothing inline, and nobody's frame. Pictures are those that a visitor
// chose, which have a blob's address.
constexpr std::string_view kPolicy =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'\r\n"
    "Referrer-Policy: no-referrer\r\n";

struct File {
  std::string_view type, text;
  std::string tag;
};

std::optional<File> find_file(std::string_view name) {
  if (const page::Asset* asset = page::find_asset(name)) {
    return File{asset->type, asset->text, asset->tag};
  }
  for (const zoo::Sample& sample : zoo::digits_samples()) {
    if (sample.name != name) continue;
    const std::string_view text(reinterpret_cast<const char*>(sample.png.data()),
                                sample.png.size());
    return File{"image/png", text, page::tag_of(text)};
  }
  return std::nullopt;
}

}  // namespace

Reply page_reply(std::string_view name, std::string_view known_tag) {
  const std::optional<File> file = find_file(name.empty() ? "index.html" : name);
  if (!file) return failure_reply(Status(Code::kNotFound, "there is no such path"));
  Reply reply;
  reply.type = file->type;
  reply.headers = std::string(kPolicy) +
                  // A browser keeps it, and asks each time whether it is still the same.
                  "Cache-Control: no-cache\r\nETag: " + file->tag + "\r\n";
  if (known_tag == file->tag) {
    reply.status = 304;
  } else {
    reply.body = file->text;
  }
  return reply;
}

}  // namespace shoal::serve
