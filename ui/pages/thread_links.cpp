// SPDX-License-Identifier: Apache-2.0
#include "ui/pages/thread_links.h"

#include "ui/text/text.h"

#include <QRegularExpression>
#include <QStringList>

#include <array>
#include <utility>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

/// Short names of repositories in the doctor's catalogue.
constexpr std::array kRepositories{
    std::pair{"DS", "deepspeedai/DeepSpeed"},
    std::pair{"MDS", "deepspeedai/Megatron-DeepSpeed"},
    std::pair{"BS-MDS", "bigscience-workshop/Megatron-DeepSpeed"},
    std::pair{"HF", "huggingface/transformers"},
    std::pair{"ACC", "huggingface/accelerate"},
    std::pair{"PL", "Lightning-AI/pytorch-lightning"},
    std::pair{"MLM", "NVIDIA/Megatron-LM"},
    std::pair{"LF", "hiyouga/LlamaFactory"},
    std::pair{"gpt-neox", "EleutherAI/gpt-neox"},
    std::pair{"ms-swift", "modelscope/ms-swift"},
    std::pair{"OpenRLHF", "OpenRLHF/OpenRLHF"},
    std::pair{"finetrainers", "huggingface/finetrainers"},
    std::pair{"DeeperSpeed", "EleutherAI/DeeperSpeed"},
};

} // namespace

QString threadAddress(const QString& thread)
{
    static const QRegularExpression form(u"^([A-Za-z0-9][A-Za-z0-9._/-]*)#([0-9]+)$"_s);
    const QRegularExpressionMatch match = form.match(thread);
    if (!match.hasMatch())
        return {};
    QString repository = match.captured(1);
    for (const auto& [name, full] : kRepositories) {
        if (repository == QLatin1String(name))
            repository = QString::fromLatin1(full);
    }
    // GitHub leads from an issue's address to the pull request of that number, too.
    return repository.count(u'/') == 1
        ? QString(u"https://github.com/"_s % repository % u"/issues/"_s % match.captured(2))
        : QString();
}

QString threadLinks(std::string_view threads, const QString& colour)
{
    QStringList parts;
    for (const QString& word : toText(threads).split(u',', Qt::SkipEmptyParts)) {
        const QString thread = word.trimmed();
        const QString address = threadAddress(thread);
        parts.append(address.isEmpty()
                ? thread.toHtmlEscaped()
                : u"<a href=\"%1\" style=\"color:%2\">%3</a>"_s.arg(address, colour, thread.toHtmlEscaped()));
    }
    return parts.join(u", "_s);
}

} // namespace shardscope::ui
