namespace weir {
extern const int steps_of_a_run;
extern const int runs;
const int steps_of_a_run = 1'000;
const int runs = 100;
}  // namespace weir
