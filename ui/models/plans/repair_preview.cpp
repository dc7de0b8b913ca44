// SPDX-License-Identifier: Apache-2.0
#include "ui/models/plans/repair_preview.h"

#include "ui/jobs/shell_words.h"
#include "ui/text/text.h"

#include <QCoreApplication>
#include <QStringList>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

struct Words {
    Q_DECLARE_TR_FUNCTIONS(shardscope::ui::Repair)
};

} // namespace

RepairPreview previewRepair(io::FileSystem& files, const CheckPlace& place, const RepairOptions& options,
    const std::stop_token& token)
{
    JobContext job(token);
    RepairPreview preview;
    auto plan = planRepair(files, place.path, place.open, options, job);
    if (plan)
        preview.plan = std::move(*plan);
    else
        preview.problem = std::move(plan).error();
    return preview;
}

QString repairCommand(const CheckPlace& place, const RepairOptions& options)
{
    QStringList codes;
    for (const std::string& code : options.fixes)
        codes.append(QString::fromStdString(code));
    CheckPlace named = place;
    named.open.salvage = false; // `repair` has no --donor
    const SourceWords source = sourceWords(named);
    QStringList words{
        u"shardscope"_s, u"repair"_s, source.path, u"DST"_s, u"--fix"_s, quotedWord(codes.join(u','))};
    for (const std::string& value : options.values)
        words << u"--set"_s << quotedWord(value);
    if (!options.donor.empty())
        words << u"--from"_s << quotedWord(options.donor);
    if (options.masters != RepairOptions::Masters::Default)
        words << u"--masters"_s
              << (options.masters == RepairOptions::Masters::Copies ? u"copies"_s : u"donor"_s);
    if (options.moments != RepairOptions::Moments::Default)
        words << u"--moments"_s
              << (options.moments == RepairOptions::Moments::Zeros ? u"zeros"_s : u"donor"_s);
    words << source.options;
    return words.join(u' ');
}

QString changeText(const RepairChange& change)
{
    QString text = sentenceText(change.what);
    if (!change.before.empty() || !change.after.empty())
        text += u": "_s % toText(change.before) % u" → "_s % toText(change.after);
    if (!change.where.empty())
        text += u"  ["_s % toText(change.where) % u']';
    if (change.reconstructed)
        text += u"  "_s % Words::tr("(reconstructed, and marked so)");
    return text;
}

} // namespace shardscope::ui
