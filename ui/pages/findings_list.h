// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/session/findings/finding_groups.h"
#include "ui/style/theme.h"

#include <QWidget>

class QGridLayout;
class QLabel;
class QVBoxLayout;

namespace shardscope::ui {

class LinkButton;

/// Findings, worst first: a mark, the message, the place, the evidence; each links to its place.
class FindingsList : public QWidget
{
    Q_OBJECT
public:
    explicit FindingsList(Theme& theme, QWidget* parent = nullptr);

    /// Shows the number of findings, each with its place, and `state`: what was checked.
    void setFindings(const std::vector<Finding>& findings, bool isSupported, const QString& state);
    void clear();

Q_SIGNALS:
    /// `where` of a finding: an address or a path.
    void placeRequested(const shardscope::Place& where);
    /// A finding without a place, or their number, was clicked.
    void allRequested();

private:
    void addRow(const FindingGroup& group);
    /// Those that are not among the places.
    void addFacts(const FindingGroup& group, const QStringList& places, QVBoxLayout* lines);
    QLabel* addLabel(const QString& name, const QString& text);
    LinkButton* addLink(const QString& name, const QString& text, const Place& where);

    static constexpr size_t kMaxRows = 60;
    static constexpr size_t kMaxPlaces = 4;
    Theme& m_theme;
    QGridLayout* m_grid;
    int m_row = 0;
};

} // namespace shardscope::ui
