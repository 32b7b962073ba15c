/* Versions, statuses and tensors, as a C program uses them: right and wrong. */
#include "c_test.h"

static void version_is_of_three_numbers(void) {
  int major = -1, minor = -1, patch = -1;
  CHECK(sscanf(shoal_version(), "%d.%d.%d", &major, &minor, &patch) == 3);
  CHECK(major >= 0 && minor >= 0 && patch >= 0);
}

static void created_tensor_is_zero_and_writable(void) {
  const int64_t shape[] = {2, 3};
  shoal_tensor* tensor = NULL;
  ok(shoal_tensor_create(SHOAL_I16, 2, shape, &tensor));
  CHECK(shoal_tensor_dtype(tensor) == SHOAL_I16);
  CHECK(shoal_tensor_rank(tensor) == 2);
  CHECK(shoal_tensor_shape(tensor)[1] == 3);
  CHECK(shoal_tensor_bytes(tensor) == 12);
  int16_t* elements = shoal_tensor_mutable_data(tensor);
  CHECK(elements != NULL && elements[5] == 0);
  elements[5] = 7;
  CHECK(((const int16_t*)shoal_tensor_data(tensor))[5] == 7);
  shoal_tensor_free(tensor);
}

static const void* data_of_none(int depth) {
  const int64_t none[] = {0};
  volatile char frame[256] = {0}; /* so that each call finds another stack */
  const void* data = NULL;
  shoal_tensor* tensor = NULL;
  if (depth > 0) return data_of_none(depth - 1);
  ok(shoal_tensor_wrap(SHOAL_F32, 1, none, NULL, 0, NULL, NULL, &tensor));
  data = shoal_tensor_data(tensor);
  shoal_tensor_free(tensor);
  return frame[0] == 0 ? data : NULL;
}

static void tensors_without_elements_point_to_nothing_of_the_stack(void) {
  CHECK(data_of_none(0) == data_of_none(9));
}

static void scalars_and_tensors_without_elements_are_tensors(void) {
  const int64_t none[] = {0, 3};
  shoal_tensor* scalar = NULL;
  shoal_tensor* empty = NULL;
  ok(shoal_tensor_create(SHOAL_F64, 0, NULL, &scalar));
  CHECK(shoal_tensor_rank(scalar) == 0 && shoal_tensor_bytes(scalar) == 8);
  ok(shoal_tensor_wrap(SHOAL_F32, 2, none, NULL, 0, NULL, NULL, &empty));
  CHECK(shoal_tensor_bytes(empty) == 0);
  shoal_tensor_free(scalar);
  shoal_tensor_free(empty);
}

static void count_release(void* context) { ++*(int*)context; }

static void wrapped_tensor_is_not_copied_and_released_once(void) {
  const int64_t shape[] = {2};
  const float data[2] = {1, 2};
  int released = 0;
  shoal_tensor* tensor = NULL;
  ok(shoal_tensor_wrap(SHOAL_F32, 1, shape, data, sizeof data, count_release, &released, &tensor));
  CHECK(shoal_tensor_data(tensor) == data);
  CHECK(shoal_tensor_mutable_data(tensor) == NULL);
  CHECK(released == 0);
  shoal_tensor_free(tensor);
  CHECK(released == 1);
}

static void wrong_tensors_are_refused(void) {
  const int64_t shape[] = {2};
  const int64_t negative[] = {-1};
  const int64_t huge[] = {INT64_MAX, INT64_MAX};
  const int64_t nine[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
  const float data[3] = {0, 0, 0};
  const char* bytes = (const char*)data;
  int released = 0;
  shoal_tensor* tensor = NULL;
  CHECK(fails(shoal_tensor_create(99, 1, shape, &tensor), SHOAL_INVALID_ARGUMENT, "99"));
  CHECK(fails(shoal_tensor_create(-1, 1, shape, &tensor), SHOAL_INVALID_ARGUMENT, "-1"));
  CHECK(fails(shoal_tensor_create(SHOAL_F32, 9, nine, &tensor), SHOAL_INVALID_ARGUMENT, "8"));
  CHECK(fails(shoal_tensor_create(SHOAL_F32, 1, negative, &tensor), SHOAL_INVALID_ARGUMENT, ""));
  CHECK(fails(shoal_tensor_create(SHOAL_F32, 2, huge, &tensor), SHOAL_INVALID_ARGUMENT, ""));
  CHECK(fails(shoal_tensor_create(SHOAL_F32, 1, NULL, &tensor), SHOAL_INVALID_ARGUMENT, "shape"));
  CHECK(fails(shoal_tensor_create(SHOAL_F32, 1, shape, NULL), SHOAL_INVALID_ARGUMENT, "out"));
  CHECK(fails(shoal_tensor_wrap(SHOAL_F32, 1, shape, NULL, 8, count_release, &released, &tensor),
              SHOAL_INVALID_ARGUMENT, "data"));
  CHECK(fails(shoal_tensor_wrap(SHOAL_F32, 1, shape, data, 4, count_release, &released, &tensor),
              SHOAL_INVALID_ARGUMENT, "8 bytes"));
  CHECK(
      fails(shoal_tensor_wrap(SHOAL_F32, 1, shape, bytes + 1, 8, count_release, &released, &tensor),
            SHOAL_INVALID_ARGUMENT, "aligned"));
  CHECK(tensor == NULL);
  CHECK(released == 0);
}

static void null_handles_are_harmless(void) {
  shoal_status_free(NULL);
  shoal_tensor_free(NULL);
  shoal_model_free(NULL);
  shoal_device_free(NULL);
  shoal_session_free(NULL);
  shoal_result_free(NULL);
  shoal_trainer_free(NULL);
  shoal_cancel_free(NULL);
  shoal_cancel_request(NULL);
  shoal_string_free(NULL);
  CHECK(shoal_status_code(NULL) == SHOAL_OK);
  CHECK(strcmp(shoal_status_message(NULL), "ok") == 0);
  CHECK(shoal_tensor_dtype(NULL) == SHOAL_F32);
  CHECK(shoal_tensor_rank(NULL) == 0 && shoal_tensor_shape(NULL) == NULL);
  CHECK(shoal_tensor_data(NULL) == NULL && shoal_tensor_bytes(NULL) == 0);
  CHECK(shoal_tensor_mutable_data(NULL) == NULL);
  CHECK(shoal_device_name(NULL) == NULL);
  CHECK(shoal_model_input_count(NULL) == 0 && shoal_model_output_count(NULL) == 0);
  CHECK(shoal_result_count(NULL) == 0 && shoal_result_tensor(NULL, 0) == NULL);
  CHECK(shoal_result_name(NULL, 0) == NULL);
}

void test_tensors(void) {
  version_is_of_three_numbers();
  created_tensor_is_zero_and_writable();
  scalars_and_tensors_without_elements_are_tensors();
  tensors_without_elements_point_to_nothing_of_the_stack();
  wrapped_tensor_is_not_copied_and_released_once();
  wrong_tensors_are_refused();
  null_handles_are_harmless();
}
