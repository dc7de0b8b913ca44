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
    /// They are made from the model, with 16-bit copies that the source does not have from masters: its own
    /// lists and tensors will not do.
    bool anew = false;
    bool withoutFrozen = false; ///< rebuilt, without frozen parameters
    /// The file of an expert that is lost, of which the checkpoint has the masters.
    struct Expert {
        std::string name; ///< of the file
        uint32_t number = 0;
        FileId like = kNoFile; ///< that of another expert of the same layer, whose form it has
    };
    std::vector<Expert> experts = {};

    [[nodiscard]] bool differ() const { return anew || !experts.empty(); }
};

/// Where elements come from that a checkpoint has lost: a state of another checkpoint, another state of its
/// own, or nowhere, which gives zeros. Parameters are the same by name, and elements by their number, so that
/// the other one may have any number of ranks. Filled while a repair is planned, then immutable and
/// thread-safe.
class Refills
{
public:
    /// `source`: the checkpoint that is repaired, with what is lost left out.
    Refills(CheckpointPtr source, ModelFiles model)
        : m_source(std::move(source))
        , m_model(std::move(model))
    {
    }

    /// The parameter of a donor that goes by a name, as one that is no alias; by the base model's name for
    /// it, too: PEFT puts "base_model.model." before names, wrappers "module.", and ".base_layer" inside.
    static std::optional<ParamId> paramOf(const Checkpoint& donor, const std::string& name);

    /// For a state of the source: a donor's state. Unsupported where one of the two stores matrices column by
    /// column; Refused, naming the parameter, where the donor lacks a parameter that is in `params`, has it
    /// in another shape, or has lost some of it itself.
    Status fill(const std::string& state, CheckpointPtr donor, const std::string& donorState,
        const std::vector<ParamId>& params);
    /// Counts elements [begin, end) of a parameter's state as lost, although bytes of them are there. Refused
    /// as fill() where they are stored column by column.
    Status lose(const std::string& state, ParamId param, uint64_t begin, uint64_t end);
    /// The same for one parameter, whatever fill() says of the others.
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
    /// FileId of a donor → index into WritePlan::sources().
    void setSources(const Checkpoint* donor, std::shared_ptr<const std::vector<uint32_t>> sourceOfFile);

    /// The run of a parameter's state that begins with an element, and the source that has it.
    struct Run {
        Fragment fragment; ///< of the donor; no elements: zeros
        uint32_t source = 0;
    };
    /// Elements from `element` on that are counted as lost, up to `most`; 0 where the first one is not.
    [[nodiscard]] uint64_t lostAt(
        ParamId param, std::string_view state, uint64_t element, uint64_t most) const;
    /// Elements from `element` on, up to `most`, before the next that are counted as lost.
    [[nodiscard]] uint64_t keptAt(
        ParamId param, std::string_view state, uint64_t element, uint64_t most) const;
    [[nodiscard]] Run runAt(ParamId param, std::string_view state, uint64_t element) const;

private:
    struct Choice {
        CheckpointPtr donor; ///< null: zeros
        std::string state;
    };
    /// Begin → end, of runs that do not touch.
    using Runs = std::map<uint64_t, uint64_t>;
    [[nodiscard]] const Runs* lostRunsOf(ParamId param, std::string_view state) const;
    Status requireAllOf(
        const std::string& state, const Choice& choice, const std::vector<ParamId>& params) const;
    /// Null where nothing is chosen.
    [[nodiscard]] const Choice* choiceFor(ParamId param, std::string_view state) const;

    CheckpointPtr m_source;
    ModelFiles m_model;
    std::map<std::string, std::map<ParamId, Runs>, std::less<>> m_lost;
    std::map<std::string, Choice, std::less<>> m_byState;
    std::map<std::string, std::map<ParamId, Choice>, std::less<>> m_ofParam;
    std::map<const Checkpoint*, std::shared_ptr<const std::vector<uint32_t>>> m_sources;
};

} // namespace shardscope
