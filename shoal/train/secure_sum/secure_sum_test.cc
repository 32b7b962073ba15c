#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "shoal/base/math/random.h"
#include "shoal/train/secure_sum/client.h"
#include "shoal/train/secure_sum/primitives.h"
#include "shoal/train/secure_sum/server.h"
#include "shoal/train/secure_sum/simulate.h"

namespace shoal::secure_sum {
namespace {

Secret secret_of(uint64_t number) {
  Secret secret = {};
  for (size_t i = 0; i < 8; ++i) secret[i] = static_cast<uint8_t>(number >> (8 * i));
  return secret;
}

std::vector<uint32_t> random_vector(const RoundOptions& options, uint32_t client) {
  std::vector<uint32_t> values(options.length);
  KeyStream(secret_of(1000 + client)).add_to(values);
  for (uint32_t& x : values) x &= static_cast<uint32_t>((uint64_t{1} << options.bits) - 1);
  return values;
}

TEST(Shamir, ThresholdSharesGiveTheSecretAndFewerDoNot) {
  std::mt19937_64 rng(1);
  for (const auto& [threshold, count] :
       {std::pair<size_t, size_t>{1, 1}, {2, 3}, {5, 7}, {100, 180}, {128, 255}}) {
    KeyStream stream(secret_of(threshold));
    const Secret secret = secret_of(rng());
    std::vector<Share> shares = share_secret(secret, threshold, count, stream);
    std::ranges::shuffle(shares, rng);
    EXPECT_EQ(combine_shares(std::span(shares).first(threshold)), secret);
    EXPECT_EQ(combine_shares(shares), secret);
    if (threshold > 1) {
      EXPECT_NE(combine_shares(std::span(shares).first(threshold - 1)), secret);
    }
  }
}

// Any secret fits the shares of fewer than the threshold: each byte of a share is uniform.
TEST(Shamir, SharesAreUniform) {
  std::array<int, 256> seen = {};
  for (uint64_t i = 0; i < 800; ++i) {
    KeyStream stream(secret_of(i));
    const std::vector<Share> shares = share_secret(Secret(), 3, 5, stream);
    for (const uint8_t byte : shares[4].value) ++seen[byte];
  }
  double chi = 0;
  for (const int count : seen) chi += (count - 100.0) * (count - 100.0) / 100;
  EXPECT_LT(chi, 350);  // 255 degrees of freedom: 1 of 25,000 is above
}

TEST(Primitives, KeysAgreeAndSealedMessagesOpen) {
  const auto alice = KeyPair::of(secret_of(1)), bob = KeyPair::of(secret_of(2));
  ASSERT_TRUE(alice.ok() && bob.ok());
  const auto ab = alice->agree(bob->public_key(), "use", {});
  const auto ba = bob->agree(alice->public_key(), "use", {});
  ASSERT_TRUE(ab.ok() && ba.ok());
  EXPECT_EQ(*ab, *ba);
  EXPECT_NE(*ab, *alice->agree(bob->public_key(), "another", {}));
  const std::vector<uint8_t> plain{1, 2, 3};
  auto sealed = seal(*ab, Sealer::kLower, plain);
  ASSERT_TRUE(sealed.ok());
  EXPECT_EQ(*open(*ba, Sealer::kLower, *sealed), plain);
  EXPECT_EQ(open(*ba, Sealer::kHigher, *sealed).status().code(), Code::kCorrupt);
  for (uint8_t& byte : *sealed) {
    byte ^= 1;
    EXPECT_EQ(open(*ba, Sealer::kLower, *sealed).status().code(), Code::kCorrupt);
    byte ^= 1;
  }
  EXPECT_EQ(open(*ba, Sealer::kLower, plain).status().code(), Code::kCorrupt);
}

// All points of order 1, 2, 4 and 8 (RFC 7748, section 7), whose coordinate is below 2^255.
TEST(Primitives, PointsOfLowOrderAreRefused) {
  const auto key = KeyPair::of(secret_of(1));
  PublicKey public_key = {1}, minus_one, prime, prime_plus_one;
  minus_one.fill(0xff);
  minus_one[31] = 0x7f;
  prime = prime_plus_one = minus_one;
  minus_one[0] = 0xec;
  prime[0] = 0xed;
  prime_plus_one[0] = 0xee;
  for (const PublicKey& point : {PublicKey{}, public_key, minus_one, prime, prime_plus_one}) {
    EXPECT_EQ(key->agree(point, "use", {}).status().code(), Code::kCorrupt);
  }
}

TEST(Round, ThePlanMeetsItsBounds) {
  for (const size_t clients : {3u, 4u, 8u, 30u, 64u, 100u, 256u, 257u, 1024u, 3000u}) {
    const RoundOptions options = plan_round(clients, 10);
    EXPECT_TRUE(check(options).ok()) << clients;
    EXPECT_LE(options.neighbours, 254u);
    // A client's neighbours lose a third on average, which leaves the threshold.
    if (clients > 3) {
      EXPECT_LE(options.threshold, options.neighbours - options.neighbours / 3);
    }
  }
  EXPECT_EQ(plan_round(8, 10).neighbours, 6u);
  EXPECT_EQ(plan_round(8, 10).threshold, 4u);
}

// Whoever is left in the end: a third drops out at one moment, or a ninth at each of three.
TEST(Round, SumIsExactWithAThirdDroppedOutAtEachMoment) {
  for (const size_t clients : {8u, 9u, 30u}) {
    for (const int bits : {32, 22}) {
      for (int when = clients < 30 ? 0 : 4; when < 5; ++when) {
        const RoundOptions options = plan_round(clients, 33, bits);
        std::vector<uint32_t> order(clients);
        for (uint32_t i = 0; i < clients; ++i) order[i] = i;
        std::mt19937 rng(static_cast<unsigned>(when));
        std::ranges::shuffle(order, rng);
        const size_t third = clients / 3;
        const auto moment_of = [&](size_t place) {
          return when < 4 ? static_cast<Moment>(when) : static_cast<Moment>(place % 3 + 1);
        };
        const auto drops = [&](uint32_t client, Moment moment) {
          const auto place = static_cast<size_t>(std::ranges::find(order, client) - order.begin());
          return place < third && moment_of(place) == moment;
        };
        const auto round = simulate_round(
            options, [&](uint32_t id) { return random_vector(options, id); }, drops, secret_of(9));
        ASSERT_TRUE(round.ok()) << round.status().message();
        std::vector<uint32_t> expected(options.length);
        for (const uint32_t id : round->sum.clients) {
          const auto values = random_vector(options, id);
          for (size_t i = 0; i < values.size(); ++i) expected[i] += values[i];
        }
        for (uint32_t& x : expected) x &= static_cast<uint32_t>((uint64_t{1} << bits) - 1);
        EXPECT_EQ(round->sum.elements, expected);
        // Who drops out after its vector was sent is still in the sum.
        std::set<uint32_t> in_sum(round->sum.clients.begin(), round->sum.clients.end());
        for (size_t place = 0; place < clients; ++place) {
          const bool is_in = place >= third || moment_of(place) == Moment::kUnmask;
          EXPECT_EQ(in_sum.contains(order[place]), is_in);
        }
      }
    }
  }
}

TEST(Round, FailsWhereTooManyDropOut) {
  const RoundOptions options = plan_round(8, 5);
  for (int when = 0; when < 4; ++when) {
    const auto drops = [&](uint32_t client, Moment moment) {
      return client < 4 && moment == static_cast<Moment>(when);
    };
    const auto round = simulate_round(
        options, [&](uint32_t id) { return random_vector(options, id); }, drops, secret_of(1));
    EXPECT_EQ(round.status().code(), Code::kUnavailable) << when;
  }
}

// B17: bytes of a client, up and down, over those of the vector alone.
TEST(Round, TrafficIsWithinItsBounds) {
  const auto ratio = [](size_t clients, size_t length) {
    const RoundOptions options = plan_round(clients, 1);
    // A client with all neighbours there; a vector's elements take 4 bytes each.
    const size_t k = options.neighbours;
    const size_t bytes = encode(Advertisement()).size() +
                         encode(NeighbourKeys{std::vector<Advertisement>(k)}).size() +
                         encode(SharedSecrets{.shares = std::vector<SealedShare>(k)}).size() +
                         encode(Delivery{std::vector<Delivery::Part>(k)}).size() +
                         encode(UnmaskRequest{std::vector<uint32_t>(k), {}}).size() +
                         encode(UnmaskAnswer{.survivors = std::vector<Secret>(k)}).size();
    const double plain = 4.0 * static_cast<double>(length);
    return (static_cast<double>(bytes) + 5 + plain) / plain;
  };
  EXPECT_LE(ratio(8, 109'386), 1.15);
  EXPECT_LE(ratio(1024, 109'386), 1.75);
}

// What the server sees of clients that all send zeros: each byte is uniform.
TEST(Round, MaskedVectorsAreUniform) {
  const RoundOptions options = plan_round(8, 3200);
  std::vector<Client> clients;
  auto server = Server::create(options, secret_of(1));
  for (uint32_t id = 0; id < 8; ++id) {
    clients.push_back(*Client::create(options, id, secret_of(id)));
    ASSERT_TRUE(server->receive(clients.back().advertise()).ok());
  }
  const auto keys_of = server->close_advertising();
  for (const auto& [id, keys] : *keys_of) {
    ASSERT_TRUE(server->receive(*clients[id].share(keys)).ok());
  }
  const std::vector<uint32_t> zeros(options.length);
  const auto deliveries = server->close_sharing();
  for (const auto& [id, delivery] : *deliveries) {
    const auto masked = clients[id].mask(delivery, zeros);
    ASSERT_TRUE(masked.ok());
    std::array<int, 256> seen = {};
    for (const uint32_t x : masked->elements) {
      for (int shift = 0; shift < 32; shift += 8) ++seen[x >> shift & 0xff];
    }
    double chi = 0;
    for (const int count : seen) chi += (count - 50.0) * (count - 50.0) / 50;
    EXPECT_LT(chi, 350) << id;  // 255 degrees of freedom: 1 of 25,000 is above
  }
}

// Four clients that have got as far as a test wants.
class HostileRound : public ::testing::Test {
 protected:
  HostileRound() {
    for (uint32_t id = 0; id < 4; ++id) {
      clients_.push_back(*Client::create(options_, id, secret_of(id)));
      EXPECT_TRUE(server_.receive(clients_[id].advertise()).ok());
    }
    keys_ = *server_.close_advertising();
  }
  void share() {
    for (uint32_t id = 0; id < 4; ++id) {
      shared_.push_back(*clients_[id].share(keys_.at(id)));
      EXPECT_TRUE(server_.receive(shared_[id]).ok());
    }
    deliveries_ = *server_.close_sharing();
  }
  void mask(uint32_t count = 4) {
    for (uint32_t id = 0; id < count; ++id) {
      masked_.push_back(*clients_[id].mask(deliveries_.at(id), values_));
      EXPECT_TRUE(server_.receive(masked_[id]).ok());
    }
    requests_ = *server_.close_masking();
  }
  // The server's verdict if client 0 changes its answer.
  template <class Change>
  Code finish_with(const Change& change) {
    for (uint32_t id = 0; id < 3; ++id) {
      UnmaskAnswer answer = *clients_[id].unmask(requests_.at(id));
      if (id == 0) change(answer);
      EXPECT_TRUE(server_.receive(answer).ok());
    }
    return server_.finish().status().code();
  }
  Code share_code(const NeighbourKeys& keys) { return clients_[0].share(keys).status().code(); }
  Code unmask_code(const UnmaskRequest& request) {
    return clients_[0].unmask(request).status().code();
  }

  const RoundOptions options_{.clients = 4, .length = 3, .neighbours = 3, .threshold = 2};
  const std::vector<uint32_t> values_ = {1, 2, 3};
  Server server_ = *Server::create(options_, secret_of(77));
  std::vector<Client> clients_;
  std::map<uint32_t, NeighbourKeys> keys_;
  std::vector<SharedSecrets> shared_;
  std::map<uint32_t, Delivery> deliveries_;
  std::vector<MaskedVector> masked_;
  std::map<uint32_t, UnmaskRequest> requests_;
};

TEST_F(HostileRound, ClientRefusesWrongNeighbours) {
  const NeighbourKeys good = keys_.at(0);
  const auto with = [&](auto change) {
    NeighbourKeys keys = good;
    change(keys.neighbours);
    Client client = *Client::create(options_, 0, secret_of(0));
    const Code code = client.share(keys).status().code();
    // What was refused cannot be tried again.
    EXPECT_FALSE(client.share(good).ok());
    return code;
  };
  EXPECT_EQ(with([](auto& n) { n.resize(1); }), Code::kCorrupt);
  EXPECT_EQ(with([](auto& n) { n.push_back({0, n[0].seal_key, n[0].mask_key}); }), Code::kCorrupt);
  EXPECT_EQ(with([](auto& n) { n[1] = n[0]; }), Code::kCorrupt);
  EXPECT_EQ(with([](auto& n) { n[0].client = 0; }), Code::kCorrupt);
  EXPECT_EQ(with([](auto& n) { n[0].client = 4; }), Code::kCorrupt);
  EXPECT_EQ(with([](auto& n) { n[0].seal_key = {}; }), Code::kCorrupt);
  EXPECT_EQ(with([](auto& n) { n[0].mask_key = {1}; }), Code::kCorrupt);
}

TEST_F(HostileRound, ClientSharesItsSecretsOnce) {
  ASSERT_TRUE(clients_[0].share(keys_.at(0)).ok());
  EXPECT_EQ(share_code(keys_.at(0)), Code::kInvalidArgument);
}

TEST_F(HostileRound, ClientRefusesWrongShares) {
  share();
  const auto with = [&](auto change) {
    Client client = *Client::create(options_, 0, secret_of(0));
    EXPECT_TRUE(client.share(keys_.at(0)).ok());
    Delivery delivery = deliveries_.at(0);
    change(delivery.parts);
    return client.mask(delivery, values_).status().code();
  };
  EXPECT_EQ(with([](auto&) {}), Code::kOk);
  EXPECT_EQ(with([](auto& parts) { parts.resize(2); }), Code::kOk);  // one dropped out
  EXPECT_EQ(with([](auto& parts) { parts.resize(1); }), Code::kUnavailable);
  EXPECT_EQ(with([](auto& parts) { parts[0].share[5] ^= 1; }), Code::kCorrupt);
  EXPECT_EQ(with([](auto& parts) { std::swap(parts[0].share, parts[1].share); }), Code::kCorrupt);
  EXPECT_EQ(with([](auto& parts) { parts[1] = parts[0]; }), Code::kCorrupt);
  EXPECT_EQ(with([](auto& parts) { parts[0].from = 0; }), Code::kCorrupt);
  // One that was meant for another client.
  EXPECT_EQ(with([&](auto& parts) { parts[0] = deliveries_.at(3).parts[1]; }), Code::kCorrupt);
}

TEST_F(HostileRound, ClientNeverRevealsBothSecretsOfANeighbour) {
  share();
  mask();
  EXPECT_EQ(unmask_code({{1, 2, 3}, {3}}), Code::kInvalidArgument);
  // Nor after a first answer was refused or given.
  EXPECT_EQ(unmask_code({{1, 2, 3}, {}}), Code::kInvalidArgument);
  ASSERT_TRUE(clients_[1].unmask({{0, 2, 3}, {}}).ok());
  EXPECT_FALSE(clients_[1].unmask({{2, 3}, {0}}).ok());
}

TEST_F(HostileRound, ClientRefusesOtherQuestions) {
  share();
  mask();
  EXPECT_FALSE(clients_[0].unmask({{1}, {2, 3}}).ok());     // fewer than the threshold
  EXPECT_FALSE(clients_[1].unmask({{0, 0, 2}, {}}).ok());   // named twice
  EXPECT_FALSE(clients_[2].unmask({{0, 1}, {2}}).ok());     // its own key
  EXPECT_FALSE(clients_[3].unmask({{0, 1, 99}, {}}).ok());  // nobody
}

// A server that tells two halves of the neighbours different stories has too few shares of each.
TEST_F(HostileRound, LiesAboutDropOutsRevealNothing) {
  share();
  mask();
  const auto of_1 = clients_[1].unmask({{0, 2, 3}, {}});
  const auto of_2 = clients_[2].unmask({{0, 1, 3}, {}});
  const auto of_3 = clients_[3].unmask({{1, 2}, {0}});
  ASSERT_TRUE(of_1.ok() && of_2.ok() && of_3.ok());
  const std::vector<Share> self{{1, of_1->survivors[0]}, {2, of_2->survivors[0]}};
  EXPECT_EQ(hash_of(combine_shares(self)), shared_[0].self_mask_hash);
  const std::vector<Share> key{{3, of_3->dropped[0]}};
  EXPECT_NE(KeyPair::of(combine_shares(key))->public_key(), clients_[0].advertise().mask_key);
}

TEST_F(HostileRound, ServerRefusesWhatHasNoPlace) {
  const auto refuses = [&](auto message) {
    EXPECT_EQ(server_.receive(message).code(), Code::kCorrupt);
  };
  refuses(clients_[0].advertise());  // too late
  Server fresh = *Server::create(options_, secret_of(1));
  EXPECT_TRUE(fresh.receive(clients_[0].advertise()).ok());
  EXPECT_EQ(fresh.receive(clients_[0].advertise()).code(), Code::kCorrupt);
  EXPECT_EQ(fresh.receive(Advertisement{4, PublicKey{9}, PublicKey{9}}).code(), Code::kCorrupt);
  EXPECT_EQ(fresh.receive(Advertisement{1, PublicKey{9}, PublicKey{1}}).code(), Code::kCorrupt);
  refuses(SharedSecrets{.client = 0, .shares = std::vector<SealedShare>(2)});
  refuses(SharedSecrets{.client = 9, .shares = std::vector<SealedShare>(3)});
  refuses(MaskedVector{0, values_});  // too early
  share();
  refuses(shared_[0]);
  refuses(MaskedVector{0, {1, 2}});
  refuses(MaskedVector{7, values_});
  mask(3);
  refuses(masked_[0]);
  refuses(UnmaskAnswer{.client = 0});
  refuses(UnmaskAnswer{.client = 3, .survivors = {}, .dropped = {}});  // it dropped out
  for (uint32_t id = 0; id < 3; ++id) {
    ASSERT_TRUE(server_.receive(*clients_[id].unmask(requests_.at(id))).ok());
  }
  refuses(UnmaskAnswer{.client = 0, .survivors = {{}, {}}, .dropped = {{}}});
  const auto sum = server_.finish();
  ASSERT_TRUE(sum.ok()) << sum.status().message();
  EXPECT_EQ(sum->elements, (std::vector<uint32_t>{3, 6, 9}));
  EXPECT_EQ(sum->clients, (std::vector<uint32_t>{0, 1, 2}));
}

// A client that reveals other shares than it got makes the round fail, not the sum wrong.
TEST_F(HostileRound, ServerDetectsWrongSharesOfASelfMask) {
  share();
  mask(3);
  EXPECT_EQ(finish_with([](UnmaskAnswer& answer) { answer.survivors[0][0] ^= 1; }), Code::kCorrupt);
}
TEST_F(HostileRound, ServerDetectsWrongSharesOfAMaskKey) {
  share();
  mask(3);
  EXPECT_EQ(finish_with([](UnmaskAnswer& answer) { answer.dropped[0][9] ^= 1; }), Code::kCorrupt);
}

TEST(Messages, RoundTripAndRefuseHostileBytes) {
  const RoundOptions options{
      .clients = 9, .length = 5, .bits = 19, .neighbours = 4, .threshold = 3};
  const MaskedVector vector{3, {0, 1, 524'287, 77'777, 400'000}};
  const auto packed = encode(vector, options);
  EXPECT_EQ(packed.size(), 1u + 4 + 12);  // 95 bits
  EXPECT_EQ(decode_masked_vector(packed, options)->elements, vector.elements);
  const UnmaskRequest request{{1, 2}, {70'000}};
  EXPECT_EQ(decode_unmask_request(encode(request))->dropped, request.dropped);
  const std::vector<std::vector<uint8_t>> all = {
      encode(Advertisement{7, {1}, {2}}),
      encode(NeighbourKeys{{{1, {2}, {3}}, {4, {5}, {6}}}}),
      encode(SharedSecrets{1, {2}, {{3}, {4}}}),
      encode(Delivery{{{1, {2}}}}),
      packed,
      encode(request),
      encode(UnmaskAnswer{1, {{2}}, {{3}, {4}}})};
  const auto decodes = [&](size_t kind, std::span<const uint8_t> bytes) {
    switch (kind) {
      case 0:
        return decode_advertisement(bytes).status();
      case 1:
        return decode_neighbour_keys(bytes).status();
      case 2:
        return decode_shared_secrets(bytes).status();
      case 3:
        return decode_delivery(bytes).status();
      case 4:
        return decode_masked_vector(bytes, options).status();
      case 5:
        return decode_unmask_request(bytes).status();
      default:
        return decode_unmask_answer(bytes).status();
    }
  };
  std::mt19937 rng(1);
  for (size_t kind = 0; kind < all.size(); ++kind) {
    EXPECT_TRUE(decodes(kind, all[kind]).ok()) << kind;
    for (size_t size = 0; size < all[kind].size(); ++size) {
      EXPECT_EQ(decodes(kind, std::span(all[kind]).first(size)).code(), Code::kCorrupt);
    }
    std::vector<uint8_t> bytes = all[kind];
    bytes.push_back(0);
    EXPECT_EQ(decodes(kind, bytes).code(), Code::kCorrupt);
    for (int i = 0; i < 2000; ++i) {
      bytes = all[kind];
      for (size_t k = 0; k < 1 + rng() % 3; ++k) {
        bytes[rng() % bytes.size()] = static_cast<uint8_t>(rng());
      }
      static_cast<void>(decodes(rng() % all.size(), bytes));  // no crash, no great memory
    }
  }
}

TEST(Quantise, SumsAreExactToHalfAUnitEach) {
  for (const size_t clients : {3u, 8u, 1000u}) {
    const int bits = value_bits_for(clients, 32);
    EXPECT_LT(static_cast<double>(clients) * (std::ldexp(1.0, bits) - 1), std::ldexp(1.0, 32));
    const Quantisation quantisation{0.5, bits};
    std::vector<uint32_t> sum(20);
    std::vector<double> expected(20);
    for (size_t c = 0; c < clients; ++c) {
      std::vector<float> vector(20);
      fill_uniform(vector, RandomStream(1, c), -0.5f, 0.5f);
      const auto integers = quantise(vector, quantisation);
      ASSERT_TRUE(integers.ok());
      for (size_t i = 0; i < 20; ++i) {
        sum[i] += (*integers)[i];
        expected[i] += double{vector[i]};
      }
    }
    const std::vector<float> real = sum_from(sum, clients, quantisation);
    const double unit = 1 / (std::ldexp(1.0, bits) - 1);
    for (size_t i = 0; i < 20; ++i) {
      EXPECT_NEAR(real[i], expected[i],
                  static_cast<double>(clients) * unit / 2 + std::abs(expected[i]) * 1e-7);
    }
  }
  const float bad[] = {1, std::numeric_limits<float>::quiet_NaN()};
  EXPECT_EQ(quantise(bad, {}).status().code(), Code::kInvalidArgument);
  const float beyond[] = {-7, 7};
  EXPECT_EQ(*quantise(beyond, {.range = 1, .value_bits = 8}), (std::vector<uint32_t>{0, 255}));
}

// A simulated federated round: the mean of what clients learned, of those that are left.
TEST(SumSecurely, IsTheMeanOfAFederatedRound) {
  std::vector<std::vector<float>> updates(12, std::vector<float>(40));
  for (size_t c = 0; c < updates.size(); ++c) {
    fill_normal(updates[c], RandomStream(5, c), 0.1);
  }
  const auto drops = [](uint32_t client, Moment moment) {
    return client % 3 == 0 && moment == Moment::kMask;
  };
  const auto sum = sum_securely(updates, 1, drops);
  ASSERT_TRUE(sum.ok()) << sum.status().message();
  EXPECT_EQ(sum->clients, (std::vector<uint32_t>{1, 2, 4, 5, 7, 8, 10, 11}));
  for (size_t i = 0; i < 40; ++i) {
    double expected = 0;
    for (const uint32_t c : sum->clients) expected += double{updates[c][i]};
    EXPECT_NEAR(sum->sum[i] / 8, expected / 8, 1e-7);
  }
  EXPECT_GT(sum->sent, 160u);
  updates[3].pop_back();
  EXPECT_EQ(sum_securely(updates, 1).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace shoal::secure_sum
