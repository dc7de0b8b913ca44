// SPDX-License-Identifier: Apache-2.0
// Writes a checkpoint of a chosen size as stock DeepSpeed would.
#include "tests/bench/generate_archive.h"
#include "tests/bench/generate_pickles.h"
#include "tests/bench/generate_values.h"

#include "core/base/parallel.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstring>

namespace shardscope::bench {

namespace {

constexpr size_t kScalarBytes = 4;

GeneratedStorage stepStorage()
{
    const auto fill = [](uint64_t, std::span<uint8_t> out) {
        const auto steps = static_cast<float>(kGeneratedSteps);
        std::memcpy(out.data(), &steps, kScalarBytes);
    };
    return {kScalarBytes, fill, false};
}

class Generator
{
public:
    Generator(const GenerateOptions& options, const GeneratedModel& model, io::Path folder)
        : m_options(options)
        , m_model(model)
        , m_folder(std::move(folder))
    {
    }

    Status run(JobContext& job) const
    {
        SHARDSCOPE_CHECK(writeModelStates(job));
        return parallelFor(m_options.world, defaultJobs(), job,
            [&](size_t rank) { return writeOptimStates(static_cast<uint32_t>(rank)); });
    }

private:
    GeneratedStorage partition(const GeneratedUnit& unit, uint32_t rank, GeneratedState state) const
    {
        const auto fill = [this, &unit, rank, state](uint64_t begin, std::span<uint8_t> out) {
            fillPartition(unit, rank, state, m_options.seed, begin, out);
        };
        return {unit.partition.partitionElements() * 4, fill, m_options.sparse};
    }

    Status writeModelStates(JobContext& job) const
    {
        SHARDSCOPE_TRY(const std::string pickle, modelStatesPickle(m_options, m_model));
        std::vector<GeneratedStorage> storages;
        if (m_options.stage != 3) {
            for (const GeneratedUnit& unit : m_model.units) {
                const auto fill = [this, &unit](uint64_t begin, std::span<uint8_t> out) {
                    fillWeights(unit, m_options.seed, begin, out);
                };
                const uint64_t bytes = unit.partition.partitionElements() * m_options.world * 2;
                storages.push_back({bytes, fill, m_options.sparse});
            }
            return writeGeneratedArchive(m_folder / "mp_rank_00_model_states.pt", pickle, storages);
        }
        storages.resize(m_model.params.size()); // the weights themselves are in the optimizer's files
        const auto path = [&](size_t rank) {
            return m_folder / fmt::format("zero_pp_rank_{}_mp_rank_00_model_states.pt", rank);
        };
        const size_t written = m_options.linkModelFiles ? 1 : m_options.world;
        SHARDSCOPE_CHECK(parallelFor(written, defaultJobs(), job,
            [&](size_t rank) { return writeGeneratedArchive(path(rank), pickle, storages); }));
        for (size_t rank = written; rank < m_options.world; ++rank) {
            std::error_code error;
            std::filesystem::create_hard_link(path(0), path(rank), error);
            if (error)
                return fail(ErrorCode::WriteFailed, "cannot link: " + error.message(), path(rank).string());
        }
        return {};
    }

    Status writeOptimStates(uint32_t rank) const
    {
        SHARDSCOPE_TRY(const std::string pickle, optimStatesPickle(m_options, m_model, rank));
        std::vector<GeneratedStorage> storages;
        for (const GeneratedUnit& unit : m_model.units) {
            storages.push_back(stepStorage());
            storages.push_back(partition(unit, rank, GeneratedState::ExpAvg));
            storages.push_back(partition(unit, rank, GeneratedState::ExpAvgSq));
        }
        for (const GeneratedUnit& unit : m_model.units)
            storages.push_back(partition(unit, rank, GeneratedState::Master));
        const std::string name = fmt::format("bf16_zero_pp_rank_{}_mp_rank_00_optim_states.pt", rank);
        return writeGeneratedArchive(m_folder / name, pickle, storages);
    }

    const GenerateOptions& m_options;
    const GeneratedModel& m_model;
    io::Path m_folder;
};

Status generate(const GenerateOptions& options, const io::Path& destination)
{
    SHARDSCOPE_TRY(const GeneratedModel model, makeGeneratedModel(options));
    const std::string tag = fmt::format("global_step{}", kGeneratedSteps);
    io::FileSystem& files = io::realFileSystem();
    SHARDSCOPE_CHECK(files.makeDirectories(destination));
    SHARDSCOPE_CHECK(files.makeDirectory(destination / tag)); // fails where one is already
    JobContext job;
    SHARDSCOPE_CHECK(Generator(options, model, destination / tag).run(job));
    SHARDSCOPE_TRY(const auto latest, files.create(destination / "latest"));
    SHARDSCOPE_CHECK(latest->writeAt(0, {reinterpret_cast<const uint8_t*>(tag.data()), tag.size()}));
    SHARDSCOPE_CHECK(latest->close());

    uint64_t elements = 0;
    for (const GeneratedParam& param : model.params)
        elements += param.elements;
    fmt::print("{}: ZeRO-{}, {} ranks, {} parameters, {} elements, {} flat units\n", destination.string(),
        options.stage, options.world, model.params.size(), elements, model.units.size());
    return {};
}

} // namespace

} // namespace shardscope::bench

int main(int argc, char** argv)
{
    shardscope::bench::GenerateOptions options;
    std::string destination;
    CLI::App app(
        "Writes a checkpoint of a chosen size with the structure that DeepSpeed 0.19.8 saves for a bf16 "
        "model and torch's AdamW. The values follow a formula (generate_values.h).");
    app.add_option("--stage", options.stage, "ZeRO stage")->required()->check(CLI::Range(1, 3));
    app.add_option("--world", options.world, "ranks")->required()->check(CLI::Range(1U, 65536U));
    app.add_option("--bytes", options.bytes, "size of the checkpoint, about: 400K, 4G (powers of 1024)")
        ->required()
        ->transform(CLI::AsSizeValue(false));
    app.add_option("--params", options.params, "parameters")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    app.add_option("--sub-group-size", options.subGroupSize, "ZeRO-3; elements per rank, default 1e9");
    app.add_option("--seed", options.seed, "of the formula")->capture_default_str();
    app.add_flag(
        "--sparse", options.sparse, "zeros that take no space on disk in place of the formula's values");
    app.add_flag("--link-model-files", options.linkModelFiles,
        "ZeRO-3: write rank 0's model file and link the others to it");
    app.add_option("DST", destination, "run folder to make")->required();
    CLI11_PARSE(app, argc, argv);
    const auto done = shardscope::bench::generate(options, destination);
    if (!done) {
        fmt::print(stderr, "{}\n", shardscope::describe(done.error()));
        return 1;
    }
    return 0;
}
