// SPDX-License-Identifier: Apache-2.0
// Wrong weights next to a checkpoint, and universal folders that lost weights in conversion.
#include "core/layout/slices/merged_slices.h"
#include "core/tensor/convert.h"
#include "tests/support/damages.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace shardscope;
using namespace shardscope::test;
using Codes = std::set<std::string>;
namespace fs = std::filesystem;

namespace {

using Shapes = std::vector<std::pair<std::string, std::vector<uint64_t>>>;

/// A file of bf16 tensors, all zero.
std::string safetensors(const Shapes& shapes)
{
    nlohmann::json header;
    uint64_t at = 0;
    for (const auto& [name, shape] : shapes) {
        uint64_t bytes = 2;
        for (const uint64_t size : shape)
            bytes *= size;
        header[name] = {{"dtype", "BF16"}, {"shape", shape}, {"data_offsets", {at, at + bytes}}};
        at += bytes;
    }
    const std::string text = header.dump();
    std::string out(8, '\0');
    for (size_t i = 0; i < 8; ++i)
        out[i] = static_cast<char>(text.size() >> (8 * i));
    return out + text + std::string(at, '\0');
}

Shapes shapesOf(const Checkpoint& checkpoint)
{
    Shapes out;
    for (const Parameter& param : checkpoint.params) {
        if (param.elements > 0)
            out.emplace_back(param.name, std::vector<uint64_t>(param.shape.begin(), param.shape.end()));
    }
    REQUIRE(!out.empty());
    return out;
}

} // namespace

TEST_CASE("placeholders of ZeRO-3 next to a checkpoint that has the weights")
{
    const Patchable copy("zero3-w4");
    const Shapes good{{"norm.weight", {32}}, {"tok_embeddings.weight", {96, 32}}};
    spill(copy.run() / "model.safetensors", safetensors(good));
    CHECK(troubles(copy.check()).empty());
    spill(copy.run() / "model.safetensors",
        safetensors({{"norm.weight", {0}}, {"elsewhere", {0}}, {"module.tok_embeddings.weight", {1}}}));
    const CheckResult result = copy.check();
    CHECK(troubles(result) == Codes{"empty-placeholders"});
    const DoctorFinding& found = requireFinding(result, "empty-placeholders");
    CHECK(found.finding.where.text() == "../model.safetensors");
    CHECK(found.finding.message == "2 of 3 tensors are empty placeholders of ZeRO-3, without weights");
    CHECK(found.command == "export " + copy.run().string() + " DST --format safetensors");
}

TEST_CASE("exported weights that are one tensor slice of two")
{
    const Patchable copy("slices-w4");
    const CheckResult healthy = copy.check();
    spill(copy.run() / "model.safetensors", safetensors(shapesOf(*healthy.checkpoint->parts.front())));
    const CheckResult result = copy.check();
    CHECK(troubles(result) == Codes{"tensor-parallel-dropped"});
    const DoctorFinding& found = requireFinding(result, "tensor-parallel-dropped");
    CHECK(found.finding.where.text() == "../model.safetensors");
    REQUIRE(!found.finding.evidence.empty());
    CHECK(found.finding.evidence.front().find("all slices together have") != std::string::npos);

    const auto merged = mergeSlicesAndStages(healthy.checkpoint);
    REQUIRE(merged);
    spill(copy.run() / "model.safetensors", safetensors(shapesOf(**merged)));
    CHECK(troubles(copy.check()).empty());
}

TEST_CASE("universal files that are longer than their parameters")
{
    const Patchable copy("zero2-universal-w2", "global_step5_universal");
    copy.operate("zero/layers.0.attention.wq.weight/exp_avg.pt", [](Surgery& surgery) {
        surgery.editTensor({"param"}, [](std::string& elements) { elements.append(12, '\0'); });
    });
    CHECK(troubles(copy.check()) == Codes{"universal-overlong"});
}

TEST_CASE("parameters that the converter skipped")
{
    const Patchable copy("zero2-universal-w2", "global_step5_universal");
    const std::string name = "layers.0.attention.wq.weight";
    const fs::path folder = copy.tag() / "zero" / name;
    for (const char* file : {"exp_avg.pt", "exp_avg_sq.pt", "step.pt"})
        fs::remove(folder / file);
    CHECK(!troubles(copy.check()).contains("universal-parameter-skipped")); // the master is a real master
    copy.operate("zero/" + name + "/fp32.pt", [&](Surgery& surgery) {
        surgery.editTensor({"param"}, [](std::string& elements) { // what the model file's fp16 copy says
            std::vector<uint8_t> narrow(elements.size() / 2);
            const std::span<uint8_t> wide(reinterpret_cast<uint8_t*>(elements.data()), elements.size());
            convertElements(DType::Float32, wide, DType::Float16, narrow);
            convertElements(DType::Float16, narrow, DType::Float32, wide);
        });
    });
    const CheckResult result = copy.check();
    const DoctorFinding& found = requireFinding(result, "universal-parameter-skipped");
    CHECK(found.finding.where.text() == name + "#fp32");
    CHECK(troubles(result) == Codes{"state-missing", "universal-parameter-skipped", "universal-source"});
}
