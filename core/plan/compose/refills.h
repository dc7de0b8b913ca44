// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"
#include "core/layout/fragments.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shardscope {

/// How the model files of a repaired copy differ from the source's.
struct ModelFiles {
    /// The files are built from the model. Missing 16-bit copies are made from masters. The source's own
    /// lists and tensors are not sufficient.
    bool rebuilt = false;
    bool withoutFrozen = false; ///< rebuilt, without frozen parameters
    /// The lost file of an expert. The checkpoint has the expert's masters.
    struct Expert {
        std::string name; ///< of the file
        uint32_t number = 0;
        FileId like = kNoFile; ///< the template: the file of another expert of the same layer
    };
    std::vector<Expert> experts = {};

    [[nodiscard]] bool differ() const { return rebuilt || !experts.empty(); }
};

/// The source of a checkpoint's lost elements: a state of another checkpoint, another state of its own, or
/// none (zeros). Parameters match by name and elements by number, so the other checkpoint may have any number
/// of ranks. Filled while a repair is planned. Afterwards immutable and thread-safe.
class Refills
{
public:
    /// `source`: the checkpoint under repair, without the lost parts.
    Refills(CheckpointPtr source, ModelFiles model)
        : m_source(std::move(source))
        , m_model(std::move(model))
    {
    }

    /// The parameter of a donor with a name. Aliases are resolved. The base model's name also matches: PEFT
    /// puts "base_model.model." before names and ".base_layer" inside, wrappers put "module." before them.
    static std::optional<ParamId> paramOf(const Checkpoint& donor, const std::string& name);

    /// Refills a state of the source from a donor's state. Unsupported if one of the two stores matrices
    /// column by column. Refused, with the parameter's name, if the donor does not have a parameter of
    /// `params`, has it in another shape, or lost a part of it.
    Status fill(const std::string& state, CheckpointPtr donor, const std::string& donorState,
        const std::vector<ParamId>& params);
    /// Counts elements [begin, end) of a parameter's state as lost, even if they have bytes. Refused, as
    /// fill(), if they are stored column by column.
    Status lose(const std::string& state, ParamId param, uint64_t begin, uint64_t end);
    /// The same for one parameter, independent of fill() for the others.
    Status fillOne(
        ParamId param, const std::string& state, CheckpointPtr donor, const std::string& donorState);
    [[nodiscard]] const ModelFiles& model() const { return m_model; }
    void fillWithZeros(const std::string& state) { m_byState[state] = {}; }
    [[nodiscard]] bool has(std::string_view state) const
    {
        return m_byState.find(state) != m_byState.end() || m_ofParam.find(state) != m_ofParam.end();
    }

    /// The donors, each once, in the order in which they were named.
    [[nodiscard]] std::vector<CheckpointPtr> donors() const;
    /// FileId of a donor → index into WritePlan::sources.
    void setSources(const Checkpoint* donor, std::shared_ptr<const std::vector<uint32_t>> sourceOfFile);

    /// The run of a parameter's state that begins with an element, and the source that has it.
    struct Run {
        Fragment fragment; ///< of the donor; no elements: zeros
        uint32_t source = 0;
    };
    /// The number of lost elements from `element` on, up to `most`. 0 if the first one is not lost.
    [[nodiscard]] uint64_t lostAt(
        ParamId param, std::string_view state, uint64_t element, uint64_t most) const;
    /// The number of elements from `element` on before the next lost one, up to `most`.
    [[nodiscard]] uint64_t keptAt(
        ParamId param, std::string_view state, uint64_t element, uint64_t most) const;
    [[nodiscard]] Run runAt(ParamId param, std::string_view state, uint64_t element) const;
    /// Bytes that are read for the whole of a parameter's state: lost elements are read where they come from,
    /// and zeros are not read.
    [[nodiscard]] uint64_t bytesReadFor(ParamId param, std::string_view state) const;

private:
    struct Choice {
        CheckpointPtr donor; ///< null: zeros
        std::string state;
    };
    /// Begin → end of separate runs.
    using Runs = std::map<uint64_t, uint64_t>;
    [[nodiscard]] const Runs* lostRunsOf(ParamId param, std::string_view state) const;
    Status requireAllOf(
        const std::string& state, const Choice& choice, const std::vector<ParamId>& params) const;
    /// Null if nothing was chosen.
    [[nodiscard]] const Choice* choiceFor(ParamId param, std::string_view state) const;

    CheckpointPtr m_source;
    ModelFiles m_model;
    std::map<std::string, std::map<ParamId, Runs>, std::less<>> m_lost;
    std::map<std::string, Choice, std::less<>> m_byState;
    std::map<std::string, std::map<ParamId, Choice>, std::less<>> m_ofParam;
    std::map<const Checkpoint*, std::shared_ptr<const std::vector<uint32_t>>> m_sources;
};

} // namespace shardscope
