// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/folder/file_loader.h"
#include "core/checkpoint/folder/reading_state.h"
#include "core/checkpoint/units/module_reader.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/torch_archive_builder.h"

#include <doctest/doctest.h>

using namespace shardscope;

namespace {

std::string text(const std::string& value)
{
    return std::string("X") + static_cast<char>(value.size()) + std::string(3, '\0') + value;
}

/// Four float32 in storage "0", as torch.save pickles them, without memo.
std::string tensor()
{
    return "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") + "ctorch\nFloatStorage\n" + text("0")
        + text("cpu") + "K\x04tQ" + std::string("K\0(", 3) + "K\x04t(K\x01t\x89"
        + "ccollections\nOrderedDict\n)RtR";
}

} // namespace

TEST_CASE("a tensor that shares bytes with several buffers is tied to the first of them")
{
    // Two buffers over the same bytes, each under its own name, then a weight that no record ties to them.
    const std::string stream = "\x80\x02}(" + text("buffer_names") + "](" + text("first") + text("second")
        + "e" + text("module") + "}(" + text("first") + tensor() + text("second") + tensor() + text("weight")
        + tensor() + "uu.";
    const test::TemporaryFolder folder;
    const io::Path path = folder / "mp_rank_00_model_states.pt";
    test::spill(path,
        test::buildTorchArchive({{"data.pkl", stream}, {".format_version", "1"}, {".storage_alignment", "64"},
            {"byteorder", "little"}, {"data/0", std::string(16, 'x')}, {"version", "3\n"}}));

    JobContext job;
    Checkpoint out;
    CheckpointFile file;
    file.path = path;
    file.name = path.filename();
    file.role = FileRole::ModelStates;
    out.files.push_back(file);
    out.templateModel = FileId{0};
    Reading reading{io::realFileSystem(), job, OpenDepth::Full, out};
    REQUIRE(loadFile(reading, out.templateModel));
    reading.modelRoot = reading.content(out.templateModel)->pickle().root();
    readModule(reading, true);

    const auto first = out.findParam("first");
    const auto weight = out.findParam("weight");
    REQUIRE((first && weight));
    CHECK(out.params[index(*first)].role == ParamRole::Buffer);
    CHECK(out.params[index(*weight)].sharedWith == *first);
}
