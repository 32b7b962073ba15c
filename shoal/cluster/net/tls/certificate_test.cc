#include "shoal/cluster/net/tls/certificate.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

namespace shoal::net {
namespace {

// Standard input is a pipe with an answer, for as long as the object lives.
class PassphraseAtHand {
 public:
  PassphraseAtHand() : before_(::dup(STDIN_FILENO)) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    EXPECT_EQ(::write(ends[1], "secret\n", 7), 7);
    ::close(ends[1]);
    ::dup2(ends[0], STDIN_FILENO);
    ::close(ends[0]);
  }
  ~PassphraseAtHand() {
    ::dup2(before_, STDIN_FILENO);
    ::close(before_);
  }
  static bool was_asked_for() {
    char left[8];
    return ::read(STDIN_FILENO, left, sizeof left) != 7;
  }

 private:
  int before_;
};

std::string encrypted(const std::string& kind) {
  return "-----BEGIN " + kind +
         "-----\nProc-Type: 4,ENCRYPTED\n"
         "DEK-Info: AES-128-CBC,00000000000000000000000000000000\n\n"
         "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n-----END " +
         kind + "-----\n";
}

// What a peer sends must not stop a server that then waits for its owner's keyboard.
TEST(Certificates, NeverAskForAPassphrase) {
  const PassphraseAtHand stdin_is_a_pipe;
  EXPECT_EQ(certificate_from_pem(encrypted("CERTIFICATE")).status().code(), Code::kCorrupt);
  EXPECT_EQ(key_of_request(encrypted("CERTIFICATE REQUEST")).status().code(), Code::kCorrupt);
  EXPECT_EQ(key_from_pem(encrypted("EC PRIVATE KEY")).status().code(), Code::kCorrupt);
  EXPECT_FALSE(PassphraseAtHand::was_asked_for());
}

}  // namespace
}  // namespace shoal::net
