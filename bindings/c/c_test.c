/* The C functions as a C program uses them: c_test FOLDER, which files are written to. */
#include "c_test.h"

int main(int argc, char** argv) {
  CHECK(argc == 2);
  test_tensors();
  test_sessions();
  test_training_and_plans(argv[1]);
  return 0;
}
