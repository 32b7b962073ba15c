/* Macros and functions that the tests of the C functions share. */
#ifndef SHOAL_BINDINGS_C_C_TEST_H_
#define SHOAL_BINDINGS_C_C_TEST_H_

#include <shoal/c/shoal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                              \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                        \
    }                                                                 \
  } while (0)

/* Ends the test unless the call succeeded. */
static inline void ok(shoal_status* status) {
  if (status == NULL) return;
  fprintf(stderr, "failed: %s\n", shoal_status_message(status));
  exit(1);
}

/* Whether the call failed with this code and with a message that has this text. */
static inline int fails(shoal_status* status, shoal_code code, const char* text) {
  const int as_told =
      shoal_status_code(status) == code && strstr(shoal_status_message(status), text) != NULL;
  if (!as_told) {
    fprintf(stderr, "code %d: %s\n", (int)shoal_status_code(status), shoal_status_message(status));
  }
  shoal_status_free(status);
  return as_told;
}

/* The tests of models, sessions and the rest; each ends the program where something is wrong. */
void test_tensors(void);
void test_sessions(void);
void test_training_and_plans(const char* folder);

#endif /* SHOAL_BINDINGS_C_C_TEST_H_ */
