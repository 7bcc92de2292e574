#include "server/gateway/rule_keeper.hpp"

#include <gtest/gtest.h>

#include "test/server/gateway/gate.hpp"

namespace weir::test {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view one = "rules: [{name: r, limit: 1/s}]";
constexpr std::string_view two = "rules: [{name: r, limit: 22/s}]";

struct Kept {
  explicit Kept(std::vector<std::string> files) : keeper(rules, {.files = std::move(files)}) {}
  Rules rules;
  server::RuleKeeper keeper;
};

TEST(RuleKeeper, ReadsAFolderAndPassesOverWhatBeginsWithADot) {
  RuleFolder folder;
  folder.write("b.yaml", "domain: b\nrules: []");
  folder.write("a.yml", "domain: a\ndescriptors: []");
  folder.write(".hidden.yaml", "no rules");
  folder.write("notes.txt", "no rules");
  Kept kept({folder.path().string()});
  const auto loaded = kept.keeper.load();
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ((*loaded)->rules.domains().size(), 2U);
  EXPECT_NE((*loaded)->rules.find("a"), nullptr);
  EXPECT_EQ((*loaded)->rules.usual(), nullptr) << "there are two";
}

TEST(RuleKeeper, SaysWhichFileIsNoGood) {
  RuleFolder folder;
  const std::string path = folder.path().string();
  EXPECT_EQ(Kept({path + "/none.yaml"}).keeper.load().error().message,
            path + "/none.yaml: No such file or directory");
  EXPECT_EQ(Kept({path}).keeper.load().error().message,
            path + ": a folder without *.yaml; expected rule files in it");
  folder.write("a.yaml", "domain: d\nrules: []");
  folder.write("b.yaml", "domain: d\nrules: []");
  EXPECT_EQ(Kept({path}).keeper.load().error().message,
            path + "/b.yaml:1:9: the domain 'd' is that of " + path + "/a.yaml already");
  folder.write("b.yaml", "domain: e\nrules: [{name: r}]");
  EXPECT_EQ(Kept({path}).keeper.load().error().message,
            path + "/b.yaml:2:9: a rule needs the field 'limit'");
}

TEST(RuleKeeper, SeesAChangeOnceTheFileHasBeenTheSameForASecond) {
  RuleFolder folder;
  folder.write("r.yaml", one);
  Kept kept({(folder.path() / "r.yaml").string()});
  ASSERT_TRUE(kept.keeper.load());
  EXPECT_FALSE(kept.keeper.changed());
  folder.write("r.yaml", "rules: [{na");
  EXPECT_FALSE(kept.keeper.changed()) << "it may be half-written";
  folder.write("r.yaml", two);
  EXPECT_FALSE(kept.keeper.changed()) << "it has changed again";
  EXPECT_TRUE(kept.keeper.changed());
  ASSERT_TRUE(kept.keeper.load());
  EXPECT_FALSE(kept.keeper.changed());
}

TEST(RuleKeeper, SeesTheFolderThatKubernetesPutsInAnothersPlace) {
  RuleFolder folder;
  const fs::path root = folder.path();
  fs::create_directory(root / "..one");
  fs::create_directory(root / "..two");
  folder.write("..one/r.yaml", one);
  folder.write("..two/r.yaml", two);
  fs::create_symlink("..one", root / "..data");
  fs::create_symlink("..data/r.yaml", root / "r.yaml");
  Kept kept({root.string()});
  ASSERT_TRUE(kept.keeper.load());
  fs::create_symlink("..two", root / "..swap");
  fs::rename(root / "..swap", root / "..data");
  EXPECT_FALSE(kept.keeper.changed());
  EXPECT_TRUE(kept.keeper.changed());
  const auto loaded = kept.keeper.load();
  ASSERT_TRUE(loaded);
  EXPECT_EQ((*loaded)->rules.usual()->domain().rules.at(0).quota.limit->text(), "22/1s");
}

TEST(RuleKeeper, AFileThatIsGoneIsAChangeThatCannotBeRead) {
  RuleFolder folder;
  folder.write("r.yaml", one);
  Kept kept({(folder.path() / "r.yaml").string()});
  ASSERT_TRUE(kept.keeper.load());
  fs::remove(folder.path() / "r.yaml");
  EXPECT_FALSE(kept.keeper.changed());
  EXPECT_TRUE(kept.keeper.changed());
  EXPECT_FALSE(kept.keeper.load());
  EXPECT_FALSE(kept.keeper.changed()) << "told once, not each second";
}

TEST(RuleKeeper, RulesOfOneIdentityKeepTheirStatesAndTheirNumbers) {
  RuleFolder folder;
  folder.write("r.yaml", one);
  Kept kept({folder.path().string()});
  const auto first = kept.keeper.load().value();
  EXPECT_TRUE(kept.keeper.put_in_force(first, Instant{}).empty());
  const auto again = kept.keeper.load().value();
  EXPECT_TRUE(kept.keeper.put_in_force(again, Instant{}).empty()) << "nothing has changed";
  const auto rule = [](const auto& generation) -> const gateway::EdgeRule& {
    return generation->rules.usual()->domain().rules.at(0);
  };
  EXPECT_EQ(rule(first).quota.states, rule(again).quota.states);
  EXPECT_EQ(rule(first).quota.states->name, "default/r");
  folder.write("r.yaml", two);
  const auto raised = kept.keeper.load().value();
  const auto successions = kept.keeper.put_in_force(raised, Instant{});
  ASSERT_EQ(successions.size(), 1U);
  EXPECT_EQ(&successions[0].from, rule(first).quota.states);
  EXPECT_EQ(&successions[0].to, rule(raised).quota.states);
  EXPECT_EQ(rule(raised).quota.states->family, rule(first).quota.states->family);
  EXPECT_EQ(rule(raised).number, rule(first).number);
}

TEST(RuleKeeper, ARateIsADomainWithoutAFile) {
  Rules rules;
  server::RuleKeeper keeper(rules, {.rate = "5/1m per ip"});
  ASSERT_TRUE(keeper.has_sources());
  EXPECT_EQ(keeper.load().value()->rules.usual()->domain().name, "default");
  server::RuleKeeper bad(rules, {.rate = "5/1m per ipp"});
  EXPECT_EQ(bad.load().error().message.substr(0, 38), "--rate '5/1m per ipp', column 10: 'ipp");
}

}  // namespace
}  // namespace weir::test
