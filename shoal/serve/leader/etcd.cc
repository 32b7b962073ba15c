#include "shoal/serve/leader/etcd.h"

#include <openssl/evp.h>

#include <algorithm>
#include <charconv>

#include "shoal/base/text/json_text.h"
#include "shoal/base/text/printable.h"
#include "shoal/cluster/net/text_file.h"
#include "shoal/cluster/net/tls/tls_context.h"

namespace shoal::serve {
namespace {

constexpr uint64_t kLargestAnswer = 64 * 1024;

std::string base64(std::string_view text) {
  std::string encoded((text.size() + 2) / 3 * 4 + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(encoded.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()),
                                   static_cast<int>(text.size()));
  encoded.resize(static_cast<size_t>(size));
  return encoded;
}

Result<std::string> from_base64(std::string_view text) {
  std::string decoded(text.size() / 4 * 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(decoded.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()),
                                   static_cast<int>(text.size()));
  const auto padding = text.size() - std::min(text.find_last_not_of('=') + 1, text.size());
  if (size < 0 || text.size() % 4 != 0 || padding > 2) {
    return Status(Code::kCorrupt, "etcd's answer has a value that is not base64");
  }
  decoded.resize(static_cast<size_t>(size) - padding);
  return decoded;
}

std::string key_of(const std::string& name) {
  return "\"key\":\"" + base64("/shoal/" + name + "/leader") + "\"";
}

// The gateway writes 64-bit numbers as texts.
Status parse_revision(JsonText& json, int64_t& revision) {
  SHOAL_ASSIGN(const std::string text, json.text());
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), revision);
  if (error != std::errc() || end != text.data() + text.size() || revision <= 0) {
    return Status(Code::kCorrupt, "etcd's answer has a revision that is no number");
  }
  return {};
}

Status parse_record(JsonText& json, Record& record) {
  return json.object([&](const std::string& key) -> Status {
    if (key == "mod_revision") return parse_revision(json, record.revision);
    if (key != "value") return json.skip();
    SHOAL_ASSIGN(const std::string value, json.text());
    SHOAL_ASSIGN(record.holder, from_base64(value));
    return {};
  });
}

struct Parsed {
  bool succeeded = false;
  int64_t revision = 0;  // of the store
  Record record;
};

// An answer, or the part of one that has the keys that were read.
Status parse_part(JsonText& json, Parsed& parsed) {
  return json.object([&](const std::string& key) -> Status {
    if (key == "succeeded") {
      SHOAL_ASSIGN(parsed.succeeded, json.boolean());
      return {};
    }
    if (key == "kvs") return json.list([&] { return parse_record(json, parsed.record); });
    if (key == "header") {
      return json.object([&](const std::string& field) -> Status {
        return field == "revision" ? parse_revision(json, parsed.revision) : json.skip();
      });
    }
    if (key != "responses") return json.skip();
    return json.list([&] {
      return json.object([&](const std::string& kind) -> Status {
        Parsed part;
        if (kind != "response_range") return json.skip();
        SHOAL_TRY(parse_part(json, part));
        parsed.record = part.record;
        return {};
      });
    });
  });
}

}  // namespace

Result<EtcdOptions> parse_etcd(std::string_view text) {
  const auto wrong = [&] {
    return invalid("a store is http://HOST:PORT[,http://HOST:PORT...]/NAME, not " +
                   printable(text, 200));
  };
  EtcdOptions options;
  const size_t slash = text.rfind('/');
  if (slash == text.npos || slash < text.rfind("://") + 3) return wrong();
  options.name = text.substr(slash + 1);
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  };
  if (options.name.empty() || !std::ranges::all_of(options.name, is_plain)) return wrong();
  for (std::string_view rest = text.substr(0, slash); !rest.empty();) {
    const size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view url = rest.substr(0, comma);
    if (!url.starts_with("http://") && !url.starts_with("https://")) return wrong();
    options.urls.emplace_back(url);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return options;
}

Result<EtcdOptions> open_etcd(const std::string& text, const std::string& trust_file) {
  SHOAL_ASSIGN(EtcdOptions options, parse_etcd(text));
  if (text.find("https://") == text.npos) return options;
  std::string trusted;
  if (!trust_file.empty()) {
    SHOAL_ASSIGN(trusted, net::read_text(trust_file));
  }
  SHOAL_ASSIGN(net::ContextPtr context, net::make_client_context(trusted));
  options.tls = std::shared_ptr<SSL_CTX>(context.release(), SSL_CTX_free);
  return options;
}

EtcdCall print_etcd_call(const std::string& name, const StoreRequest& request) {
  const std::string key = key_of(name);
  // By what one member has, which is fast, and fine: a swap of an old record fails.
  if (!request.holder) return {"/v3/kv/range", "{" + key + ",\"serializable\":true}"};
  return {"/v3/kv/txn",
          "{\"compare\":[{" + key + ",\"target\":\"MOD\",\"result\":\"EQUAL\",\"mod_revision\":\"" +
              std::to_string(request.expected) + "\"}],\"success\":[{\"request_put\":{" + key +
              ",\"value\":\"" + base64(*request.holder) +
              "\"}}],\"failure\":[{\"request_range\":{" + key + "}}]}"};
}

Result<StoreAnswer> parse_etcd_answer(const StoreRequest& request, std::string_view text) {
  JsonText json(text, "etcd's answer");
  Parsed parsed;
  SHOAL_TRY(parse_part(json, parsed));
  SHOAL_TRY(json.end());
  if (parsed.revision == 0) return Status(Code::kCorrupt, "etcd's answer has no revision");
  if (!request.holder || !parsed.succeeded) return StoreAnswer{false, parsed.record};
  return StoreAnswer{true, {*request.holder, parsed.revision}};
}

Result<StoreAnswer> EtcdStore::ask(const StoreRequest& request) {
  auto answer = ask_member(request);
  if (answer.ok() && client_->is_open()) return answer;
  client_.reset();
  if (!answer.ok()) member_ = (member_ + 1) % options_.urls.size();
  return answer;
}

Result<StoreAnswer> EtcdStore::ask_member(const StoreRequest& request) {
  if (!client_) {
    HttpClientOptions how{.key = {}, .tls = options_.tls};
    how.timeout = options_.timeout;
    how.answer_bytes = kLargestAnswer;
    SHOAL_ASSIGN(HttpClient client, HttpClient::connect(options_.urls[member_], how));
    client_.emplace(std::move(client));
  }
  EtcdCall call = print_etcd_call(options_.name, request);
  SHOAL_ASSIGN(const HttpAnswer answer, client_->post(call.path, {std::move(call.json), {}}));
  const std::string_view text(reinterpret_cast<const char*>(answer.body.bytes.data()),
                              answer.body.bytes.size());
  if (answer.status != 200) {
    return Status(Code::kUnavailable, "etcd says: " + printable(text, 200));
  }
  return parse_etcd_answer(request, text);
}

}  // namespace shoal::serve
