// SPDX-License-Identifier: Apache-2.0
#include "core/plan/export/export_adapter.h"

#include "core/base/text.h"
#include "core/plan/export/adapter_parts.h"

#include <algorithm>
#include <map>
#include <set>

namespace shardscope {

namespace {

constexpr std::string_view kBaseLayer = ".base_layer.";

std::string_view leafOf(std::string_view module)
{
    return module.substr(module.rfind('.') + 1); // the whole name if there is no dot
}

std::string_view moduleOf(std::string_view parameter)
{
    const size_t dot = parameter.rfind('.');
    return parameter.substr(0, dot == std::string_view::npos ? 0 : dot);
}

std::string quoted(const std::string& text)
{
    return "`" + toValidUtf8(text) + "`";
}

/// The requested parameters, sorted into the adapter's and the others.
class Selection
{
public:
    Selection(const Checkpoint& source, std::vector<ExportName> names)
        : m_source(source)
        , m_names(std::move(names))
    {
        for (const ExportName& entry : m_names) {
            m_parts.push_back(adapterPart(entry.name));
            if (m_parts.back())
                m_adapters.insert(m_parts.back()->adapter);
        }
        // Where PEFT names its adapters, a LoRA without a name belongs to the model.
        const bool withNames = m_adapters.size() > 1 && m_adapters.erase(std::string()) > 0;
        for (auto& part : m_parts) {
            if (part && withNames && part->adapter.empty())
                part.reset();
            if (part && part->role != AdapterRole::SavedModule)
                m_targets.insert(part->module);
        }
    }

    [[nodiscard]] Status checkMethod() const
    {
        const std::string folder = m_source.tagFolder.string();
        for (size_t i = 0; i < m_names.size(); ++i) {
            const std::string_view other
                = m_parts[i] ? std::string_view() : otherPeftMethod(m_names[i].name, !m_targets.empty());
            if (!other.empty())
                return fail(ErrorCode::Unsupported,
                    quoted(m_names[i].name) + " is of PEFT's method " + std::string(other)
                        + "; this build exports only LoRA",
                    folder, "--format safetensors --only PATTERN writes its parameters as they are named");
        }
        if (m_targets.empty())
            return fail(ErrorCode::Refused, "no parameter belongs to a LoRA adapter", folder,
                "--format safetensors exports the model");
        if (m_adapters.size() > 1)
            return fail(ErrorCode::Usage,
                "the checkpoint has several adapters, such as " + quoted(*m_adapters.begin()) + " and "
                    + quoted(*m_adapters.rbegin()),
                folder, "choose one by its name, as in --only '*." + *m_adapters.begin() + ".*'");
        for (const auto& part : m_parts) {
            if (part && !part->key.starts_with(kPeftPrefix))
                return fail(ErrorCode::Usage,
                    quoted(part->key) + " does not begin with `base_model.model.`, as PEFT's names do",
                    folder, "remove the prefix with --strip-prefix");
        }
        return {};
    }
    [[nodiscard]] const std::string& adapter() const { return *m_adapters.begin(); }

    Status checkConfig(const AdapterConfig& config) const
    {
        for (const auto& [module, rank] : ranks()) {
            if (std::find(config.ranks.begin(), config.ranks.end(), rank) == config.ranks.end())
                return fail(ErrorCode::Refused,
                    "adapter_config.json next to the checkpoint belongs to another adapter: " + quoted(module)
                        + " has rank " + std::to_string(rank),
                    config.file.path.string());
        }
        return {};
    }

    /// Ranks, from the first dimension of A, which embeddings have, too.
    [[nodiscard]] std::map<std::string, uint64_t> ranks() const
    {
        std::map<std::string, uint64_t> out;
        for (size_t i = 0; i < m_names.size(); ++i) {
            const auto& part = m_parts[i];
            const Shape& shape = m_source.params[index(m_names[i].param)].shape;
            if (part && !shape.empty() && !part->isBias
                && (part->role == AdapterRole::LoraA || part->role == AdapterRole::EmbeddingA))
                out.emplace(part->module.substr(kPeftPrefix.size()), shape.front());
        }
        return out;
    }

    [[nodiscard]] AdapterFacts facts() const
    {
        AdapterFacts out;
        out.ranks = ranks();
        out.targets = targetNames();
        out.biases = trainedBiases();
        std::set<std::string> saved;
        for (const auto& part : m_parts) {
            if (!part)
                continue;
            out.dora = out.dora || part->role == AdapterRole::Magnitude;
            out.loraBias = out.loraBias || part->isBias;
            if (part->role == AdapterRole::SavedModule)
                saved.insert(part->module.substr(kPeftPrefix.size()));
        }
        out.savedModules.assign(saved.begin(), saved.end());
        return out;
    }

    /// Selects like PEFT's get_peft_model_state_dict().
    void take(const std::string& biases, const std::vector<std::string>& savedEmbeddings, AdapterExport& out)
    {
        for (size_t i = 0; i < m_names.size(); ++i) {
            ExportName& entry = m_names[i];
            if (m_parts[i]) {
                out.names.push_back({entry.param, m_parts[i]->key});
                continue;
            }
            const bool bias = entry.name.ends_with(".bias")
                && (biases == "all" ? entry.name.find(".original_module.") == std::string::npos
                                    : biases == "lora_only" && isOfTarget(entry.name));
            const bool embedding = isOfTarget(entry.name)
                && std::ranges::any_of(savedEmbeddings,
                    [&](const std::string& leaf) { return leafOf(targetOf(entry.name)) == leaf; });
            if (bias || embedding)
                out.names.push_back(std::move(entry));
            else if (m_source.params[index(entry.param)].role == ParamRole::Trainable)
                out.left.push_back(std::move(entry.name));
        }
    }

    /// Targets with names that PEFT treats as embeddings (utils/constants.py, EMBEDDING_LAYER_NAMES).
    [[nodiscard]] std::vector<std::string> targetedEmbeddings(
        const std::optional<AdapterConfig>& config) const
    {
        std::vector<std::string> out;
        bool asked = false;
        for (const std::string leaf : {"embed_tokens", "lm_head"}) {
            const bool there = std::ranges::any_of(
                m_targets, [&](const std::string& module) { return leafOf(module) == leaf; });
            const bool listed = !config || !config->targetsAreListed
                || std::find(config->targets.begin(), config->targets.end(), leaf) != config->targets.end();
            asked = asked || (there && listed);
            if (there)
                out.push_back(leaf);
        }
        return asked ? out : std::vector<std::string>();
    }

private:
    /// "M.base_layer.weight" → "M". Empty for others.
    static std::string targetOf(const std::string& name)
    {
        const size_t at = name.rfind(kBaseLayer);
        return at == std::string::npos ? std::string() : name.substr(0, at);
    }
    [[nodiscard]] bool isOfTarget(const std::string& name) const
    {
        return m_targets.contains(targetOf(name));
    }

    [[nodiscard]] std::string trainedBiases() const
    {
        std::string out = "none";
        for (size_t i = 0; i < m_names.size(); ++i) {
            const ExportName& entry = m_names[i];
            if (m_parts[i] || !entry.name.ends_with(".bias")
                || m_source.params[index(entry.param)].role != ParamRole::Trainable)
                continue;
            if (!isOfTarget(entry.name))
                return "all";
            out = "lora_only";
        }
        return out;
    }

    /// The last parts of names if they identify the targets and no other module. Else the full names.
    [[nodiscard]] std::vector<std::string> targetNames() const
    {
        std::set<std::string_view> shared;
        for (size_t i = 0; i < m_names.size(); ++i) {
            const std::string& name = m_names[i].name;
            if (!m_parts[i] && !isOfTarget(name))
                shared.insert(leafOf(moduleOf(name)));
        }
        std::set<std::string> out;
        for (const std::string& module : m_targets) {
            const std::string_view leaf = leafOf(module);
            out.insert(shared.contains(leaf) ? module.substr(kPeftPrefix.size()) : std::string(leaf));
        }
        return {out.begin(), out.end()};
    }

    const Checkpoint& m_source;
    std::vector<ExportName> m_names;
    std::vector<std::optional<AdapterPart>> m_parts; ///< by name
    std::set<std::string> m_adapters;
    std::set<std::string> m_targets; ///< modules with a LoRA
};

} // namespace

Result<AdapterExport> selectAdapter(io::FileSystem& files, const Checkpoint& source,
    std::vector<ExportName> names, const std::vector<std::string>& configOptions)
{
    Selection selection(source, std::move(names));
    SHARDSCOPE_CHECK(selection.checkMethod());
    AdapterExport out;
    SHARDSCOPE_TRY(out.config, findAdapterConfig(files, source, selection.adapter()));
    if (out.config) {
        if (!configOptions.empty())
            return fail(ErrorCode::Usage,
                "the adapter's configuration is next to the checkpoint and is copied",
                out.config->file.path.string(), Hint::omit("--adapter-option"));
        SHARDSCOPE_CHECK(selection.checkConfig(*out.config));
    } else {
        SHARDSCOPE_TRY(out.configText, adapterConfigText(selection.facts(), configOptions));
    }
    const std::string biases = out.config ? out.config->biases : selection.facts().biases;
    selection.take(biases, selection.targetedEmbeddings(out.config), out);
    return out;
}

} // namespace shardscope
