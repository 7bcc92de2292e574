namespace weir {
extern const int steps_of_a_run;
extern const int runs;
const int steps_of_a_run = 10'000;
const int runs = 1'000;
}  // namespace weir
