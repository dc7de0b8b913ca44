// SPDX-License-Identifier: Apache-2.0
// Folders of frameworks around DeepSpeed: found at every level, and their files next to the tag are copied.
#include "tests/cli/cli_fixture.h"
#include "tests/support/torch_archive_builder.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

/// Files that a Trainer with two processes writes next to the tag.
const std::vector<std::pair<std::string, std::string>> kTrainerFiles{{"config.json", "{}"},
    {"model.safetensors", "sixteen bits"}, {"rng_state_0.pth", "random 0"}, {"rng_state_1.pth", "random 1"},
    {"scheduler.pt", "schedule"}, {"training_args.bin", ""},
    {"trainer_state.json",
        R"({"epoch": 0.5, "global_step": 5, "log_history": [{"step": 1}], "max_steps": 9})"}};

/// A sample as one of the checkpoints in a Trainer's output folder.
fs::path addCheckpoint(const fs::path& output, const std::string& name, const std::string& sample)
{
    fs::create_directories(output);
    fs::copy(samplePath(sample), output / name, fs::copy_options::recursive);
    for (const auto& [file, bytes] : kTrainerFiles)
        spill(output / name / file, bytes);
    return output / name;
}

Json fileNamed(const Json& answer, const std::string& path)
{
    for (const Json& file : answer.at("files")) {
        if (file.at("path") == path)
            return file;
    }
    return nullptr;
}

std::vector<std::string> plainFilesIn(const fs::path& folder)
{
    std::vector<std::string> out;
    for (const auto& entry : fs::directory_iterator(folder)) {
        if (entry.is_regular_file())
            out.push_back(entry.path().filename().string());
    }
    std::sort(out.begin(), out.end());
    return out;
}

Json warningOf(const Json& answer, const std::string& code, const std::string& severity)
{
    for (const Json& warning : answer.at("plan").at("warnings")) {
        if (warning.at("code") == code && warning.at("severity") == severity)
            return warning;
    }
    return nullptr;
}

} // namespace

TEST_CASE("a Trainer's checkpoint is found from its output folder down to a file")
{
    const TemporaryFolder folder;
    const fs::path output = folder / "out";
    const fs::path older = addCheckpoint(output, "checkpoint-9", "zero2-w2");
    const fs::path newer = addCheckpoint(output, "checkpoint-10", "zero1-w2");
    spill(output / "checkpoint-20/model.safetensors", "weights alone");
    const std::string tag = slurp(newer / "latest");

    const Json fromOutput = answerOf({"inspect", output});
    CHECK(fromOutput.at("checkpoint") == (fs::canonical(newer) / tag).string());
    CHECK(fromOutput.at("tag") == tag);
    const Json& tags = fromOutput.at("tags");
    CHECK(std::find(tags.begin(), tags.end(), "checkpoint-9") != tags.end());
    CHECK(std::find(tags.begin(), tags.end(), "checkpoint-20") == tags.end());
    CHECK(tags.back() == tag);

    for (const fs::path& place : {output, newer, newer / tag}) {
        const Json inspected = answerOf({"inspect", place});
        CHECK(inspected.at("wrapper") == "transformers");
        CHECK(inspected.at("kind") == "zero1");
        const Json& evidence = inspected.at("evidence");
        CHECK(std::find(evidence.begin(), evidence.end(),
                  "`trainer_state.json`: global_step 5, max_steps 9, epoch 0.5")
            != evidence.end());
    }
    // The other tag by its name, also from inside a checkpoint of the same folder.
    CHECK(answerOf({"inspect", output, "--tag", "checkpoint-9"}).at("kind") == "zero2");
    CHECK(answerOf({"inspect", newer, "--tag", "checkpoint-9"}).at("kind") == "zero2");
    CHECK(answerOf({"inspect", older}).at("kind") == "zero2");
    errorOf({"inspect", output, "--tag", "checkpoint-20"}, 3, "not-found");

    const Json selected = answerOf({"inspect", newer / "rng_state_1.pth"});
    CHECK(selected.at("kind") == "zero1");
    CHECK(selected.at("selected") == "../rng_state_1.pth");
}

TEST_CASE("files next to the tag are listed, with the process of the random states")
{
    const TemporaryFolder folder;
    const fs::path run = addCheckpoint(folder / "out", "checkpoint-5", "zero2-w2");
    spill(run / ".hidden", "x");
    fs::create_directories(run / "runs");
    const Json answer = answerOf({"files", run});
    for (const auto& [name, bytes] : kTrainerFiles) {
        const Json file = fileNamed(answer, "../" + name);
        REQUIRE(file.is_object());
        CHECK(file.at("role") == "other");
        CHECK(file.at("status") == "ok");
        CHECK(file.at("bytes") == bytes.size());
    }
    CHECK(fileNamed(answer, "../rng_state_1.pth").at("rank").at("dp") == 1);
    for (const std::string name : {"../.hidden", "../latest", "../zero_to_fp32.py", "../runs"})
        CHECK(fileNamed(answer, name).is_null());
    CHECK(answerOf({"inspect", run}).at("findings")
        == answerOf({"inspect", samplePath("zero2-w2")}).at("findings"));
}

TEST_CASE("a Trainer's files are copied, and random states go to the existing processes")
{
    const TemporaryFolder folder;
    const fs::path run = addCheckpoint(folder / "out", "checkpoint-5", "zero2-w2");
    fs::permissions(run / "model.safetensors", fs::perms::owner_read | fs::perms::owner_write);
    fs::create_directories(run / "runs");

    const Json one = answerOf({"reshard", run, folder / "one", "-w", "1"});
    CHECK(slurp(folder / "one/rng_state.pth") == "random 0");
    CHECK_FALSE(fs::exists(folder / "one/rng_state_0.pth"));
    CHECK_FALSE(fs::exists(folder / "one/rng_state_1.pth"));
    CHECK(warningOf(one, "client-state-per-rank", "warning").is_null());
    CHECK(warningOf(one, "foreign-file", "info").at("evidence") == Json{"runs"});
    for (const auto& [name, bytes] : kTrainerFiles) {
        if (!name.starts_with("rng_state"))
            CHECK(slurp(folder / "one" / name) == bytes);
    }
    CHECK(fs::status(folder / "one/model.safetensors").permissions()
        == (fs::perms::owner_read | fs::perms::owner_write));

    const Json three = answerOf({"reshard", run, folder / "three", "-w", "3"});
    CHECK(slurp(folder / "three/rng_state_1.pth") == "random 1");
    CHECK_FALSE(fs::exists(folder / "three/rng_state_2.pth"));
    CHECK(warningOf(three, "client-state-per-rank", "warning").at("where") == "../rng_state_2.pth");

    // From one process to two, the files of random states change their names again.
    answerOf({"reshard", folder / "one", folder / "two", "-w", "2"});
    CHECK(slurp(folder / "two/rng_state_0.pth") == "random 0");
    CHECK_FALSE(fs::exists(folder / "two/rng_state.pth"));
}

TEST_CASE("copied files are verified, and files of another checkpoint are not mixed in")
{
    const TemporaryFolder folder;
    const fs::path run = addCheckpoint(folder / "out", "checkpoint-5", "zero2-w2");
    const fs::path target = folder / "target";
    answerOf({"reshard", run, target, "-w", "1"});
    CHECK(answerOf({"verify", target}).at("ok") == true);
    spill(target / "trainer_state.json", "{}");
    const Json changed = answerOf({"verify", target}, 1);
    CHECK(changed.at("problems").at(0).at("where") == "../trainer_state.json");

    errorOf({"reshard", run, target, "-w", "1", "--tag-out", "global_step77"}, 5, "target-exists");
    CHECK(slurp(target / "trainer_state.json") == "{}");
    CHECK_FALSE(fs::exists(target / "global_step77"));
    answerOf({"reshard", run, target, "-w", "1", "--tag-out", "global_step77", "--force"});
    CHECK(answerOf({"verify", target}).at("ok") == true);
    errorOf({"reshard", run, folder / "x", "-w", "1", "--tag-out", "mine"}, 2, "usage");

    fs::remove(target / "scheduler.pt");
    CHECK(answerOf({"verify", target}, 1).at("problems").at(0).at("where") == "../scheduler.pt");
}

TEST_CASE("diff compares the schedule that the Trainer keeps next to the tag")
{
    const TemporaryFolder folder;
    const fs::path run = addCheckpoint(folder / "output", "checkpoint-5", "zero2-w2");
    const std::string copy = folder / "copy";
    answerOf({"reshard", run, copy, "-w", "3"});
    CHECK(answerOf({"diff", run, copy}).at("equal") == true);
    spill(fs::path(copy) / "scheduler.pt", "Schedule");
    const Json other = answerOf({"diff", run, copy}, 1);
    CHECK(other.at("equal") == false);
    CHECK(other.at("causes").at(0).at("code") == "scheduler-differs");
    fs::remove(fs::path(copy) / "scheduler.pt");
    CHECK(answerOf({"diff", run, copy}, 1).at("causes").at(0).at("code") == "scheduler-differs");
    // A real one is compared value by value, whatever its pickle.
    const auto schedule = [](std::string pickle) { return buildTorchArchive(pickle + ".", {}); };
    const std::string six("\x80\x02}q\x00X\n\x00\x00\x00last_epochq\x01K\x06s", 25);
    const std::string sixAgain("\x80\x02}X\n\x00\x00\x00last_epochJ\x06\x00\x00\x00s", 24);
    const std::string seven("\x80\x02}q\x00X\n\x00\x00\x00last_epochq\x01K\x07s", 25);
    spill(run / "scheduler.pt", schedule(six));
    spill(fs::path(copy) / "scheduler.pt", schedule(sixAgain));
    CHECK(answerOf({"diff", run, copy}).at("equal") == true);
    spill(fs::path(copy) / "scheduler.pt", schedule(seven));
    const Json late = answerOf({"diff", run, copy}, 1);
    CHECK(late.at("causes").at(0).at("evidence").dump().find("last_epoch: 6 | 7") != std::string::npos);
}

TEST_CASE("a universal folder has the Trainer's files next to it and passes them on")
{
    const TemporaryFolder folder;
    const fs::path run = addCheckpoint(folder / "out", "checkpoint-5", "zero2-w2");
    answerOf({"convert", run, folder / "universal", "--to", "universal"});
    for (const auto& [name, bytes] : kTrainerFiles)
        CHECK(slurp(folder / "universal" / name) == bytes);
    CHECK(answerOf({"verify", folder / "universal"}).at("ok") == true);
    answerOf({"reshard", folder / "universal", folder / "back", "-w", "2"});
    for (const auto& [name, bytes] : kTrainerFiles)
        CHECK(slurp(folder / "back" / name) == bytes);
}

TEST_CASE("Accelerate's folder keeps its tag and its files")
{
    const TemporaryFolder folder;
    const fs::path project = folder / "checkpoints";
    const fs::path run = project / "checkpoint_3";
    fs::create_directories(project);
    fs::copy(samplePath("zero1-w2"), run, fs::copy_options::recursive);
    fs::rename(run / slurp(run / "latest"), run / "pytorch_model");
    spill(run / "latest", "pytorch_model");
    for (const std::string name : {"random_states_0.pkl", "random_states_1.pkl", "scheduler.bin",
             "sampler.bin", "dl_state_dict.bin", "custom_checkpoint_0.pkl", "scaler.pt"})
        spill(run / name, "of " + name);

    for (const fs::path& place : {project, run, run / "pytorch_model", run / "scheduler.bin"})
        CHECK(answerOf({"inspect", place}).at("wrapper") == "accelerate");
    // Its second model has a number. Other tags are of the user, also such that begin alike.
    const fs::path other = folder / "other";
    fs::create_directory(other);
    fs::copy(run / "pytorch_model", other / "pytorch_model_1", fs::copy_options::recursive);
    spill(other / "latest", "pytorch_model_1");
    CHECK(answerOf({"inspect", other}).at("wrapper") == "accelerate");
    fs::rename(other / "pytorch_model_1", other / "pytorch_model_final");
    spill(other / "latest", "pytorch_model_final");
    CHECK(answerOf({"inspect", other}).at("wrapper").is_null());
    const Json answer = answerOf({"reshard", project, folder / "out", "-w", "3"});
    CHECK(slurp(folder / "out/latest") == "pytorch_model");
    CHECK(plainFilesIn(folder / "out") == plainFilesIn(run));
    CHECK(slurp(folder / "out/random_states_1.pkl") == "of random_states_1.pkl");
    CHECK(warningOf(answer, "client-state-per-rank", "warning").at("where") == "../random_states_2.pkl");
    CHECK(warningOf(answer, "stock-loader-trap", "warning").at("where") == "../scheduler.bin");
    errorOf({"reshard", run, folder / "x", "-w", "1", "--tag-out", "global_step5"}, 2, "usage");
    const Json one = answerOf({"reshard", run, folder / "one", "-w", "1"});
    CHECK_FALSE(fs::exists(folder / "one/random_states_1.pkl"));
    CHECK(slurp(folder / "one/random_states_0.pkl") == "of random_states_0.pkl");
}

TEST_CASE("Lightning's folder is recognised by its name")
{
    const TemporaryFolder folder;
    const fs::path run = folder / "epoch=1-step=5.ckpt";
    fs::copy(samplePath("zero3-w4"), run, fs::copy_options::recursive);
    fs::rename(run / slurp(run / "latest"), run / "checkpoint");
    spill(run / "latest", "checkpoint");
    for (const fs::path& place : {run, run / "checkpoint"})
        CHECK(answerOf({"inspect", place}).at("wrapper") == "lightning");
    answerOf({"reshard", run, folder / "out.ckpt", "-w", "2"});
    CHECK(answerOf({"inspect", folder / "out.ckpt"}).at("wrapper") == "lightning");
    errorOf({"reshard", run, folder / "x", "-w", "1", "--tag-out", "other"}, 2, "usage");
}

TEST_CASE("Megatron's pointer is copied with its tag")
{
    const TemporaryFolder folder;
    const fs::path run = folder / "save";
    fs::copy(samplePath("zero1-w2"), run, fs::copy_options::recursive);
    spill(run / "latest_checkpointed_iteration.txt", "5");
    spill(run / "notes.txt", "not Megatron's");
    CHECK(answerOf({"inspect", run}).at("wrapper") == "megatron");
    answerOf({"reshard", run, folder / "a", "-w", "1"});
    CHECK(slurp(folder / "a/latest_checkpointed_iteration.txt") == "5");
    CHECK_FALSE(fs::exists(folder / "a/notes.txt"));

    const std::string tag = slurp(run / "latest");
    spill(run / "latest", "global_step999");
    answerOf({"reshard", run, folder / "b", "-w", "1", "--tag", tag});
    CHECK_FALSE(fs::exists(folder / "b/latest_checkpointed_iteration.txt"));
}
