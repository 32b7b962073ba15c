/* Models, devices and sessions, as a C program uses them: right, wrong, and from several threads.
 */
#include <pthread.h>

#include "c_test.h"

enum { PIXELS = 28 * 28 };
static const int64_t image_shape[] = {1, 1, 28, 28};
static const char* image_name = "image";

static shoal_model* open_model(const char* name) {
  shoal_model* model = NULL;
  ok(shoal_model_open(name, &model));
  return model;
}

static shoal_session* open_digits(shoal_device* device) {
  shoal_model* model = open_model("zoo:digits");
  shoal_session* session = NULL;
  ok(shoal_session_open(model, device, &session));
  shoal_model_free(model); /* the session keeps what it needs */
  return session;
}

static shoal_status* run_with(shoal_session* session, const float* pixels,
                              const shoal_run_options* options, shoal_result** result) {
  shoal_tensor* image = NULL;
  ok(shoal_tensor_wrap(SHOAL_F32, 4, image_shape, pixels, PIXELS * sizeof(float), NULL, NULL,
                       &image));
  const shoal_tensor* images[] = {image};
  shoal_status* status = shoal_session_run(session, 1, &image_name, images, options, result);
  shoal_tensor_free(image);
  return status;
}

static shoal_result* run_digits(shoal_session* session, const float* pixels) {
  shoal_result* result = NULL;
  ok(run_with(session, pixels, NULL, &result));
  return result;
}

static void what_is_not_there_is_not_found(void) {
  shoal_model* model = NULL;
  shoal_device* device = NULL;
  CHECK(fails(shoal_model_open("no/such/file.onnx", &model), SHOAL_NOT_FOUND, "file.onnx"));
  CHECK(fails(shoal_model_open("zoo:nothing", &model), SHOAL_NOT_FOUND, "nothing"));
  CHECK(fails(shoal_model_open(NULL, &model), SHOAL_INVALID_ARGUMENT, "name"));
  CHECK(fails(shoal_model_open("zoo:digits", NULL), SHOAL_INVALID_ARGUMENT, "out"));
  CHECK(fails(shoal_model_parse("not an ONNX file", 16, &model), SHOAL_CORRUPT, ""));
  CHECK(fails(shoal_model_parse(NULL, 16, &model), SHOAL_INVALID_ARGUMENT, "data"));
  CHECK(model == NULL);
  CHECK(fails(shoal_device_open("abacus", NULL, &device), SHOAL_NOT_FOUND, "abacus"));
  CHECK(fails(shoal_device_open(NULL, NULL, &device), SHOAL_INVALID_ARGUMENT, "name"));
  CHECK(device == NULL);
}

static void model_says_what_it_takes_and_gives(void) {
  shoal_model* model = open_model("zoo:digits");
  shoal_value_info info = SHOAL_VALUE_INFO_INIT;
  CHECK(shoal_model_input_count(model) == 1 && shoal_model_output_count(model) == 1);
  ok(shoal_model_input(model, 0, &info));
  CHECK(strcmp(info.name, "image") == 0 && info.dtype == SHOAL_F32 && info.optional == 0);
  CHECK(info.rank == 4 && info.shape[0] == -1 && info.shape[3] == 28);
  ok(shoal_model_output(model, 0, &info));
  CHECK(strcmp(info.name, "scores") == 0);
  CHECK(fails(shoal_model_input(model, 1, &info), SHOAL_INVALID_ARGUMENT, "1"));
  CHECK(fails(shoal_model_output(model, 1, &info), SHOAL_INVALID_ARGUMENT, "1"));
  CHECK(fails(shoal_model_input(NULL, 0, &info), SHOAL_INVALID_ARGUMENT, "model"));
  CHECK(fails(shoal_model_input(model, 0, NULL), SHOAL_INVALID_ARGUMENT, "info"));
  info.struct_size = 0;
  CHECK(fails(shoal_model_input(model, 0, &info), SHOAL_INVALID_ARGUMENT, "struct_size"));
  shoal_model_free(model);
}

static void networks_of_the_zoo_say_it_too(void) {
  shoal_model* model = open_model("zoo:lenet5");
  shoal_value_info info = SHOAL_VALUE_INFO_INIT;
  ok(shoal_model_input(model, 0, &info));
  CHECK(info.rank == 4 && info.shape[2] == 28);
  ok(shoal_model_output(model, 0, &info));
  CHECK(info.rank == 2 && info.shape[1] == 10);
  shoal_model_free(model);
}

/* x f32[1] -> Relu -> y, whose type is left out. */
static void outputs_need_no_type(void) {
  static const char relu[] =
      "\x08\x08\x3a\x27"
      "\x0a\x0c\x0a\x01x\x12\x01y\x22\x04Relu"
      "\x12\x01g"
      "\x5a\x0f\x0a\x01x\x12\x0a\x0a\x08\x08\x01\x12\x04\x0a\x02\x08\x01"
      "\x62\x03\x0a\x01y"
      "\x42\x02\x10\x11";
  shoal_model* model = NULL;
  shoal_value_info info = SHOAL_VALUE_INFO_INIT;
  ok(shoal_model_parse(relu, sizeof relu - 1, &model));
  ok(shoal_model_input(model, 0, &info));
  CHECK(info.dtype == SHOAL_F32 && info.rank == 1);
  ok(shoal_model_output(model, 0, &info));
  CHECK(strcmp(info.name, "y") == 0 && info.dtype == -1 && info.rank == -1);
  shoal_model_free(model);
}

static void older_callers_get_the_fields_they_know(void) {
  struct {
    size_t struct_size;
    const char* name;
    const char* after;
  } old = {2 * sizeof(void*), NULL, "untouched"};
  shoal_model* model = open_model("zoo:digits");
  ok(shoal_model_input(model, 0, (shoal_value_info*)(void*)&old));
  CHECK(strcmp(old.name, "image") == 0);
  CHECK(strcmp(old.after, "untouched") == 0);
  shoal_model_free(model);
}

static void later_callers_may_leave_unknown_fields_zero(void) {
  struct {
    shoal_run_options known;
    int64_t later;
  } options = {{sizeof options, 0, NULL}, 0};
  static const float pixels[PIXELS] = {0};
  shoal_session* session = open_digits(NULL);
  shoal_result* result = NULL;
  ok(run_with(session, pixels, &options.known, &result));
  shoal_result_free(result);
  result = NULL;
  options.later = 1;
  CHECK(fails(run_with(session, pixels, &options.known, &result), SHOAL_UNSUPPORTED, "option"));
  options.known.struct_size = 3;
  CHECK(fails(run_with(session, pixels, &options.known, &result), SHOAL_INVALID_ARGUMENT, "size"));
  CHECK(result == NULL);
  shoal_session_free(session);
}

static void session_answers_with_named_outputs(void) {
  static const float pixels[PIXELS] = {0};
  shoal_session* session = open_digits(NULL);
  shoal_result* result = run_digits(session, pixels);
  CHECK(shoal_result_count(result) == 1);
  CHECK(strcmp(shoal_result_name(result, 0), "scores") == 0);
  CHECK(shoal_result_name(result, 1) == NULL && shoal_result_tensor(result, 1) == NULL);
  const shoal_tensor* scores = shoal_result_tensor(result, 0);
  CHECK(shoal_tensor_rank(scores) == 2 && shoal_tensor_shape(scores)[1] == 10);
  shoal_session_free(session);
  CHECK(shoal_tensor_bytes(scores) == 40); /* the result keeps its tensors */
  shoal_result_free(result);
}

static void wrong_inputs_are_refused(void) {
  shoal_session* session = open_digits(NULL);
  const char* twice[] = {image_name, image_name};
  const char* other = "no such input";
  const char* null = NULL;
  shoal_tensor* image = NULL;
  shoal_tensor* integers = NULL;
  shoal_result* result = NULL;
  ok(shoal_tensor_create(SHOAL_F32, 4, image_shape, &image));
  ok(shoal_tensor_create(SHOAL_I32, 4, image_shape, &integers));
  const shoal_tensor* images[] = {image, image};
  const shoal_tensor* none[] = {NULL};
  const shoal_tensor* wrong[] = {integers};
  const shoal_code bad = SHOAL_INVALID_ARGUMENT;
  CHECK(fails(shoal_session_run(session, 0, NULL, NULL, NULL, &result), bad, "image"));
  CHECK(fails(shoal_session_run(session, 1, NULL, images, NULL, &result), bad, "names"));
  CHECK(fails(shoal_session_run(session, 1, &null, images, NULL, &result), bad, "name"));
  CHECK(fails(shoal_session_run(session, 1, &image_name, NULL, NULL, &result), bad, "tensors"));
  CHECK(fails(shoal_session_run(session, 1, &image_name, none, NULL, &result), bad, "tensor"));
  CHECK(fails(shoal_session_run(session, 2, twice, images, NULL, &result), bad, "twice"));
  CHECK(fails(shoal_session_run(session, 1, &other, images, NULL, &result), bad, other));
  CHECK(fails(shoal_session_run(session, 1, &image_name, wrong, NULL, &result), bad, "image"));
  CHECK(fails(shoal_session_run(NULL, 1, &image_name, images, NULL, &result), bad, "session"));
  CHECK(fails(shoal_session_run(session, 1, &image_name, images, NULL, NULL), bad, "out"));
  CHECK(fails(shoal_session_prepare(session), bad, "")); /* the batch is open */
  CHECK(result == NULL);
  shoal_tensor_free(image);
  shoal_tensor_free(integers);
  shoal_session_free(session);
}

static void requests_end_by_deadline_and_cancellation(void) {
  static const float pixels[PIXELS] = {0};
  shoal_session* session = open_digits(NULL);
  shoal_run_options options = SHOAL_RUN_OPTIONS_INIT;
  shoal_cancel* cancel = NULL;
  shoal_result* result = NULL;
  options.timeout_seconds = 1e-9;
  CHECK(fails(run_with(session, pixels, &options, &result), SHOAL_DEADLINE, ""));
  options.timeout_seconds = -1;
  CHECK(fails(run_with(session, pixels, &options, &result), SHOAL_INVALID_ARGUMENT, "timeout"));
  options.timeout_seconds = 1e300;
  ok(shoal_cancel_create(&cancel));
  options.cancel = cancel;
  ok(run_with(session, pixels, &options, &result));
  shoal_result_free(result);
  result = NULL;
  shoal_cancel_request(cancel);
  CHECK(fails(run_with(session, pixels, &options, &result), SHOAL_CANCELLED, ""));
  CHECK(result == NULL);
  shoal_cancel_free(cancel);
  shoal_session_free(session);
}

static int is_listed(const char* device) {
  for (size_t i = 0; shoal_device_list(i) != NULL; ++i) {
    if (strcmp(shoal_device_list(i), device) == 0) return 1;
  }
  return 0;
}

static void devices_agree(void) {
  static float pixels[PIXELS];
  for (size_t i = 0; i < PIXELS; ++i) pixels[i] = (float)(i % 13) / 13;
  shoal_device_options options = SHOAL_DEVICE_OPTIONS_INIT;
  options.threads = 1;
  const char* names[2] = {"cpu", "reference"};
  shoal_result* results[2] = {NULL, NULL};
  for (size_t i = 0; i < 2; ++i) {
    CHECK(is_listed(names[i]));
    shoal_device* device = NULL;
    ok(shoal_device_open(names[i], &options, &device));
    CHECK(strcmp(shoal_device_name(device), names[i]) == 0);
    shoal_session* session = open_digits(device);
    shoal_device_free(device); /* the session keeps it */
    results[i] = run_digits(session, pixels);
    shoal_session_free(session);
  }
  const float* a = shoal_tensor_data(shoal_result_tensor(results[0], 0));
  const float* b = shoal_tensor_data(shoal_result_tensor(results[1], 0));
  for (int i = 0; i < 10; ++i) CHECK(a[i] - b[i] < 1e-3f && b[i] - a[i] < 1e-3f);
  shoal_result_free(results[0]);
  shoal_result_free(results[1]);
  CHECK(shoal_device_list(1000) == NULL);
}

static void wrong_device_options_are_refused(void) {
  shoal_device_options options = SHOAL_DEVICE_OPTIONS_INIT;
  shoal_device* device = NULL;
  options.threads = -1;
  CHECK(fails(shoal_device_open("cpu", &options, &device), SHOAL_INVALID_ARGUMENT, "threads"));
  options.threads = 0;
  options.tune = 7;
  CHECK(fails(shoal_device_open("cpu", &options, &device), SHOAL_INVALID_ARGUMENT, "7"));
  options.tune = SHOAL_TUNE_OFF;
  options.survive = 3;
  if (is_listed("cluster")) {
    CHECK(fails(shoal_device_open("cluster", &options, &device), SHOAL_INVALID_ARGUMENT, "2"));
    options.survive = 0;
    options.verify = 10;
    CHECK(fails(shoal_device_open("cluster", &options, &device), SHOAL_INVALID_ARGUMENT, "verify"));
    options.verify = -1;
    CHECK(fails(shoal_device_open("cluster", &options, &device), SHOAL_INVALID_ARGUMENT, "verify"));
    options.verify = 0;
    options.survive = 1;
    CHECK(fails(shoal_device_open("cluster:/nowhere/at/all", &options, &device), SHOAL_NOT_FOUND,
                "/nowhere/at/all"));
  } else {
    CHECK(fails(shoal_device_open("cluster", &options, &device), SHOAL_NOT_FOUND, "cluster"));
  }
  CHECK(device == NULL);
}

static void* run_often(void* session) {
  static const float pixels[PIXELS] = {0};
  for (int i = 0; i < 20; ++i) shoal_result_free(run_digits(session, pixels));
  return NULL;
}

static void threads_share_a_session(void) {
  shoal_session* session = open_digits(NULL);
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) CHECK(pthread_create(&threads[i], NULL, run_often, session) == 0);
  for (int i = 0; i < 4; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  shoal_session_free(session);
}

void test_sessions(void) {
  what_is_not_there_is_not_found();
  model_says_what_it_takes_and_gives();
  networks_of_the_zoo_say_it_too();
  outputs_need_no_type();
  older_callers_get_the_fields_they_know();
  later_callers_may_leave_unknown_fields_zero();
  session_answers_with_named_outputs();
  wrong_inputs_are_refused();
  requests_end_by_deadline_and_cancellation();
  devices_agree();
  wrong_device_options_are_refused();
  threads_share_a_session();
}
