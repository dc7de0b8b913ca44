// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/model/write_plan.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace shardscope::test {

/// A plan like a reshard, made without the checkpoint rooms: source archives full of random bytes whose
/// tensors follow one another over `sourceRanks` files, to be rewritten over `targetRanks` files. The source
/// is really on disk.
struct SyntheticPlan : WritePlan {
    struct Shape {
        uint32_t sourceRanks = 3;
        uint32_t targetRanks = 4;
        uint32_t tensors = 7;
        uint64_t meanElements = 900;
        uint64_t seed = 1;
    };

    /// Writes the source below `sourceRun` (run folder / tag folder / files).
    SyntheticPlan(const std::filesystem::path& sourceRun, const Shape& shape);

    /// What the files below the target, and "../NAME" next to it, must hold, computed in memory from the
    /// definition; the manifest is not among them.
    [[nodiscard]] const std::map<std::string, std::string>& expected() const { return m_expected; }
    /// The bytes of every tensor, in the order of the tensors.
    [[nodiscard]] const std::vector<std::string>& tensorBytes() const { return m_tensorBytes; }
    [[nodiscard]] const std::filesystem::path& sourceRun() const { return m_run; }
    /// Where output `path` holds elements: what a reader would find. Ascending offsets.
    struct Run {
        uint64_t offset = 0;
        uint64_t bytes = 0;
        uint32_t tensor = 0;
        uint64_t firstElement = 0;
    };
    [[nodiscard]] std::vector<Run> runsOf(const std::string& path) const;
    /// Takes the files on the disk as they are now for the ones that the plan is made for.
    void readIdentitiesAgain();

private:
    struct Body {
        std::string name;
        std::string literal;
        std::vector<Segment> segments;
        bool isSegments = false;
        bool isId = false;
    };
    struct Target {
        std::string path;
        bool archive = true;
        std::vector<Body> bodies;
    };

    void makeTensors(const Shape& shape);
    void makeSource(const Shape& shape, uint32_t rank);
    /// A raw file next to the source, without checksums. It is copied unchanged next to the target.
    void makeWeights(const Shape& shape);
    void makeTarget(const Shape& shape, uint32_t rank);
    std::vector<Segment> flatSlice(const Shape& shape, uint32_t kind, uint64_t begin, uint64_t end) const;
    void finishTarget(const Target& target);
    [[nodiscard]] OutputFile recipeOf(const Target& target) const;
    std::string bytesOfSegments(const std::vector<Segment>& segments) const;

    std::filesystem::path m_run;
    std::vector<std::string> m_sourceBytes;
    std::vector<std::string> m_tensorBytes;
    std::vector<Target> m_targets;
    std::map<std::string, std::string> m_expected;
    uint64_t m_random = 0;
};

} // namespace shardscope::test
