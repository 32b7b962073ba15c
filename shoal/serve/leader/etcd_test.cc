#include "shoal/serve/leader/etcd.h"

#include <gtest/gtest.h>

#include <random>

namespace shoal::serve {
namespace {

// Answers of etcd 3.4.
constexpr const char* kHeader =
    R"({"header":{"cluster_id":"324952591200643719","member_id":"3319814642761637952","revision":"7","raft_term":"2"})";
const std::string kKvs =
    R"("kvs":[{"key":"L3Nob2FsL2EvbGVhZGVy","create_revision":"2","mod_revision":"5","version":"3","value":"aGVsbG8="}],"count":"1"})";

TEST(Etcd, ReadsAndSwapsAKey) {
  const EtcdCall read = print_etcd_call("a", {});
  EXPECT_EQ(read.path, "/v3/kv/range");
  EXPECT_EQ(read.json, R"({"key":"L3Nob2FsL2EvbGVhZGVy","serializable":true})");
  const EtcdCall swap = print_etcd_call("a", {"hello", 5});
  EXPECT_EQ(swap.path, "/v3/kv/txn");
  EXPECT_EQ(
      swap.json,
      R"({"compare":[{"key":"L3Nob2FsL2EvbGVhZGVy","target":"MOD","result":"EQUAL",)"
      R"("mod_revision":"5"}],"success":[{"request_put":{"key":"L3Nob2FsL2EvbGVhZGVy",)"
      R"("value":"aGVsbG8="}}],"failure":[{"request_range":{"key":"L3Nob2FsL2EvbGVhZGVy"}}]})");
}

TEST(Etcd, UnderstandsAnswers) {
  const std::string header = kHeader;
  const auto parsed = [](const StoreRequest& request, const std::string& text) {
    auto answer = parse_etcd_answer(request, text);
    EXPECT_TRUE(answer.ok()) << answer.status().message();
    return answer.ok() ? *answer : StoreAnswer{};
  };
  EXPECT_EQ(parsed({}, header + "}").record, Record());
  EXPECT_EQ(parsed({}, header + "," + kKvs).record, (Record{"hello", 5}));
  // A value that is empty is left out.
  EXPECT_EQ(parsed({}, header + R"(,"kvs":[{"mod_revision":"5"}]})").record, (Record{"", 5}));

  const StoreAnswer done =
      parsed({"me", 5}, header + R"(,"succeeded":true,"responses":[{"response_put":{}}]})");
  EXPECT_TRUE(done.swapped);
  EXPECT_EQ(done.record, (Record{"me", 7}));
  const StoreAnswer failed =
      parsed({"me", 4}, header + R"(,"responses":[{"response_range":{"header":{"revision":"7"},)" +
                            kKvs + "}]}");
  EXPECT_FALSE(failed.swapped);
  EXPECT_EQ(failed.record, (Record{"hello", 5}));
}

// Whatever a few changed bytes make of an answer, it is an answer or refused.
TEST(Etcd, SurvivesDamagedAnswers) {
  const std::string whole =
      std::string(kHeader) + R"(,"responses":[{"response_range":{)" + kKvs + "}]}";
  ASSERT_TRUE(parse_etcd_answer({"me", 1}, whole).ok());
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(parse_etcd_answer({"me", 1}, whole.substr(0, size)).ok()) << size;
  }
  std::mt19937 rng(1);
  size_t refused = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string text = whole;
    for (int n = 0; n < 3; ++n) text[rng() % text.size()] = static_cast<char>(rng() % 256);
    const auto answer = parse_etcd_answer({"me", 1}, text);
    refused += answer.ok() ? 0 : 1;
    EXPECT_GE(answer.ok() ? answer->record.revision : 0, 0);
  }
  EXPECT_GT(refused, 1000u);
  for (const char* value : {"a", "====", "aGVsbG8", "a===", "\\u0000AAA"}) {
    const std::string text =
        std::string(kHeader) + R"(,"kvs":[{"mod_revision":"5","value":")" + value + R"("}]})";
    EXPECT_FALSE(parse_etcd_answer({}, text).ok()) << value;
  }
}

TEST(Etcd, IsTrustedByFiles) {
  EXPECT_EQ(open_etcd("http://a:1/name", "nowhere")->tls, nullptr) << "nobody has to vouch for it";
  EXPECT_NE(open_etcd("http://a:1,https://b:1/name", "")->tls, nullptr);
  EXPECT_FALSE(open_etcd("https://a:1/name", "nowhere").ok());
  EXPECT_FALSE(open_etcd("a:1/name", "").ok());
}

TEST(Etcd, IsNamedByUrls) {
  const auto one = parse_etcd("http://127.0.0.1:2379/digits");
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(one->urls, std::vector<std::string>{"http://127.0.0.1:2379"});
  EXPECT_EQ(one->name, "digits");
  const auto three = parse_etcd("https://a:1,https://b:2,https://c:3/my.model-2");
  ASSERT_TRUE(three.ok());
  EXPECT_EQ(three->urls, (std::vector<std::string>{"https://a:1", "https://b:2", "https://c:3"}));
  EXPECT_EQ(three->name, "my.model-2");
  for (const char* text : {"", "http://127.0.0.1:2379", "http://127.0.0.1:2379/", "a:1/b", "/b",
                           "http://a:1,b:2/c", "http://a:1/b c", "http://a:1/b\"c", "http:///"}) {
    EXPECT_FALSE(parse_etcd(text).ok()) << text;
  }
}

}  // namespace
}  // namespace shoal::serve
