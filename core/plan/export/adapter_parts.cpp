// SPDX-License-Identifier: Apache-2.0
#include "core/plan/export/adapter_parts.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace shardscope {

namespace {

struct Mark {
    std::string_view component;
    AdapterRole role;
};
constexpr std::array<Mark, 6> kMarks{{{"lora_A", AdapterRole::LoraA}, {"lora_B", AdapterRole::LoraB},
    {"lora_embedding_A", AdapterRole::EmbeddingA}, {"lora_embedding_B", AdapterRole::EmbeddingB},
    {"lora_magnitude_vector", AdapterRole::Magnitude}, {"modules_to_save", AdapterRole::SavedModule}}};

/// The `prefix` of each method's parameters (peft, tuners/*/model.py), and the names that prompt learning
/// adds.
constexpr std::array<std::pair<std::string_view, std::string_view>, 42> kOthers{
    {{"adamss_", "AdaMSS"}, {"adaption_gate", "adaption prompt"}, {"adaption_prompt", "adaption prompt"},
        {"beft_", "BEFT"}, {"boft_", "BOFT"}, {"bone_", "Bone"}, {"c3a_", "C3A"}, {"deft_", "DEFT"},
        {"delora_", "DeLoRA"}, {"fourierft_", "FourierFT"}, {"frod_", "FRoD"}, {"glora_", "GLoRA"},
        {"gralora_", "GraLoRA"}, {"hada_", "LoHa"}, {"hira_", "HiRA"}, {"hra_", "HRA"}, {"ia3_", "IA3"},
        {"internal_xlora_classifier", "X-LoRA"}, {"lily_", "Lily"}, {"ln_tuning_", "LN tuning"},
        {"lokr_", "LoKr"}, {"lora_E", "AdaLoRA"}, {"miss_", "MiSS"}, {"oft_", "OFT"}, {"osf_", "OSF"},
        {"peanut_", "PEANuT"}, {"poly_", "Poly"}, {"prompt_encoder", "prompt learning"}, {"psoft_", "PSOFT"},
        {"pvera_lambda_", "PVeRA"}, {"randlora_", "RandLoRA"}, {"road_", "RoAd"}, {"shadow_", "Shadow"},
        {"shira_", "SHiRA"}, {"supertuning_", "supertuning"}, {"tinylora_", "TinyLoRA"},
        {"trainable_tokens_", "trainable tokens"}, {"unilora_", "UniLoRA"}, {"vblora_", "VB-LoRA"},
        {"vera_", "VeRA"}, {"waveft_", "WaveFT"}, {"lora_ranknum", "AdaLoRA"}}};

constexpr std::array<std::string_view, 3> kWithLora{"AdaLoRA", "trainable tokens", "X-LoRA"};

std::vector<std::string_view> componentsOf(std::string_view name)
{
    std::vector<std::string_view> out;
    for (size_t begin = 0;;) {
        const size_t dot = name.find('.', begin);
        out.push_back(name.substr(begin, dot == std::string_view::npos ? dot : dot - begin));
        if (dot == std::string_view::npos)
            return out;
        begin = dot + 1;
    }
}

std::string dotted(const std::vector<std::string_view>& components, size_t begin, size_t end)
{
    std::string out;
    for (size_t i = begin; i < end; ++i)
        out += (i > begin ? "." : "") + std::string(components[i]);
    return out;
}

/// Whether the parameter itself follows, as in `q_proj.lora_A.weight`: in files of PEFT, and in other
/// implementations of LoRA. A PeftModel has the adapter's name in between.
bool hasNoAdapterName(AdapterRole role, const std::vector<std::string_view>& components, size_t next)
{
    const bool ofModule
        = role == AdapterRole::LoraA || role == AdapterRole::LoraB || role == AdapterRole::Magnitude;
    return ofModule && next + 1 == components.size()
        && (components[next] == "weight" || components[next] == "bias");
}

} // namespace

std::optional<AdapterPart> adapterPart(std::string_view name)
{
    const auto components = componentsOf(name);
    for (size_t at = 1; at + 1 < components.size(); ++at) {
        const auto mark = std::find_if(kMarks.begin(), kMarks.end(),
            [&](const Mark& candidate) { return candidate.component == components[at]; });
        if (mark == kMarks.end())
            continue;
        const bool saved = mark->role == AdapterRole::SavedModule;
        const size_t rest = at + (hasNoAdapterName(mark->role, components, at + 1) ? 1 : 2);
        if (saved ? rest == components.size() : components.size() > rest + 1)
            return std::nullopt; // one of the model's own modules has this name
        AdapterPart out;
        out.role = mark->role;
        out.module = dotted(components, 0, at);
        out.adapter = rest == at + 2 ? components[at + 1] : std::string_view();
        out.isBias = !saved && rest < components.size() && components[rest] == "bias";
        out.key = out.module;
        if (!saved)
            out.key += "." + std::string(mark->component);
        // PEFT keeps the older form, in which magnitudes were separate parameters.
        if (rest < components.size() && mark->role != AdapterRole::Magnitude)
            out.key += "." + dotted(components, rest, components.size());
        return out;
    }
    return std::nullopt;
}

std::string_view otherPeftMethod(std::string_view name, bool withLora)
{
    for (const std::string_view component : componentsOf(name)) {
        for (const auto& [prefix, method] : kOthers) {
            const bool possible
                = !withLora || std::find(kWithLora.begin(), kWithLora.end(), method) != kWithLora.end();
            if (possible && component.starts_with(prefix))
                return method;
        }
    }
    return {};
}

} // namespace shardscope
