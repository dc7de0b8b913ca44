// SPDX-License-Identifier: Apache-2.0
// An export as NumPy files: the bytes of the safetensors export, each tensor behind a header of its own.
#include "tests/core/plan/plan_fixture.h"

#include "core/plan/export/export.h"
#include "core/torchfile/formats/npy_folder.h"
#include "core/torchfile/formats/npy_format.h"
#include "core/torchfile/formats/safetensors_file.h"
#include "tests/support/plain_writer.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <map>

using namespace shardscope;
using namespace shardscope::test;

namespace {

Result<WritePlanPtr> tryPlan(const CheckpointPtr& source, ExportOptions options)
{
    JobContext job;
    options.folderName = "out";
    return planExport(io::realFileSystem(), source, options, job);
}

using Key = std::pair<std::string, std::string>; ///< state and name

std::map<Key, std::string> npyContent(const io::Path& folder)
{
    JobContext job;
    const auto tensors = readNpyFolder(io::realFileSystem(), folder, job);
    REQUIRE_MESSAGE(tensors.has_value(), (tensors ? "" : describe(tensors.error())));
    std::map<Key, std::string> out;
    for (const NpyTensor& entry : *tensors) {
        const std::string bytes = slurp(folder / entry.file);
        CHECK(bytes.starts_with(npyRawHeader(entry.tensor.dtype, entry.tensor.shape)));
        out[{entry.state, entry.tensor.name}] = bytes.substr(entry.tensor.byteOffset);
    }
    return out;
}

std::map<Key, std::string> safetensorsContent(const io::Path& folder, const std::vector<std::string>& states)
{
    std::map<Key, std::string> out;
    JobContext job;
    for (const std::string& state : states) {
        const io::Path path = folder / ((state == "weight" ? "model" : state) + ".safetensors");
        const auto header = readSafetensors(io::realFileSystem(), path, job);
        REQUIRE(header.has_value());
        const std::string bytes = slurp(path);
        for (const SafeTensor& tensor : header->tensors)
            out[{state, tensor.name}] = bytes.substr(tensor.byteOffset, tensor.bytes);
    }
    return out;
}

} // namespace

TEST_CASE("NumPy files hold the elements that safetensors files hold")
{
    for (const char* name :
        {"zero2-w2", "zero3-w4", "zenflow-w2", "slices-w4", "experts-w4", "stage0-bf16"}) {
        for (const std::optional<DType> dtype :
            {std::optional<DType>(), std::optional(DType::Float32), std::optional(DType::Float8E5M2)}) {
            CAPTURE(std::string(name));
            CAPTURE(castName(dtype));
            const TemporaryFolder folder;
            const CheckpointPtr source = openForPlan(planSample(name));
            ExportOptions options{.dtype = dtype, .states = {"exp_avg"}};
            for (const ExportFormat format : {ExportFormat::Safetensors, ExportFormat::Npy}) {
                options.format = format;
                const auto plan = tryPlan(source, options);
                REQUIRE_MESSAGE(plan.has_value(), (plan ? "" : describe(plan.error())));
                plainWrite(**plan, folder / std::string(exportFormatName(format)));
                CHECK((*plan)->files.size()
                    == (format == ExportFormat::Npy ? (*plan)->exported->tensors.size() + 1 : 2));
            }
            const auto found = npyContent(folder / "npy" / "out");
            CHECK(found.size() > 20);
            CHECK(found == safetensorsContent(folder / "safetensors" / "out", {"weight", "exp_avg"}));
        }
    }
}

TEST_CASE("elements without a NumPy type cause a warning")
{
    const CheckpointPtr source = openForPlan(planSample("zero2-w2"));
    const auto warned = [&](std::optional<DType> dtype) {
        const auto plan = tryPlan(source, {.format = ExportFormat::Npy, .dtype = dtype});
        REQUIRE(plan.has_value());
        return std::any_of((*plan)->warnings.begin(), (*plan)->warnings.end(),
            [](const Finding& warning) { return warning.message.find("NumPy") != std::string::npos; });
    };
    CHECK(warned({}));
    CHECK(warned(DType::Float8E4M3));
    CHECK(!warned(DType::Float32));
    CHECK(!warned(DType::Float16));
}

TEST_CASE("a tensor's name cannot lead out of the folder")
{
    const CheckpointPtr source = openForPlan(planSample("zero2-w2"));
    const TemporaryFolder folder;
    const auto plan = tryPlan(source,
        {.format = ExportFormat::Npy,
            .only = {"norm.*"},
            .renames = {{"norm.weight", "../../up"}, {"norm.bias", "index.json"}}});
    REQUIRE(plan.has_value());
    plainWrite(**plan, folder.path());
    CHECK(std::filesystem::exists(folder / "out/%2E.%2F..%2Fup.npy"));
    CHECK(std::filesystem::exists(folder / "out/index.json.npy"));
    CHECK(npyContent(folder / "out").contains({"weight", "../../up"}));
}
