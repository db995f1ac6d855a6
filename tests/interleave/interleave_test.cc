#include <gtest/gtest.h>
#include "tests/interleave/walk.h"
using namespace interleave;
TEST(Try, One) {
  for (const char *spec : {"capacity=4 layout.bucket_slots=2", "capacity=4 layout.bucket_slots=2 probing=cuckoo", "capacity=4 layout.bucket_slots=2 probing=cuckoo duplicates=add","capacity=4 layout=soa layout.bucket_slots=2", "capacity=4 layout.bucket_slots=2 key_bits=64 value_bits=64 duplicates=add"})
  for (Model model : {Model::SEQUENTIAL, Model::STALE}) {
    Case c{spec, {{Verb::INSERT, 5, 50}}, {{Verb::INSERT, 7, 1}, {Verb::INSERT, 7, 2}}};
    Verdict v = explore_case(c, model);
    printf("%s %d: %s %lu executions %lu cut %u steps whole %d\n%s\n", spec, (int)model, v.refusal.c_str(), v.outcome.executions, v.outcome.cut, v.outcome.steps_max, v.outcome.is_whole, v.outcome.failure.c_str());
  }
}
