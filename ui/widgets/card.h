// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/style/theme.h"

#include <QFrame>
#include <QLayout>

class QGridLayout;
class QLabel;
class QVBoxLayout;

namespace shardscope::ui {

class LinkButton;

/// A titled panel of the Overview page.
class Card : public QFrame
{
    Q_OBJECT
public:
    Card(Theme& theme, const QString& title, QWidget* parent = nullptr);

    void setTitle(const QString& title);
    /// One large line, the card's main number.
    QLabel* addHeadline(const QString& text);
    /// The same that leads somewhere.
    LinkButton* addHeadlineLink(const QString& text);
    /// A muted label with a selectable value next to it.
    QLabel* addFact(const QString& name, const QString& value, const QString& toolTip = {});
    /// A value that leads somewhere; `exact`: its tool tip, and what is copied.
    LinkButton* addFactLink(const QString& name, const QString& value, const QString& exact = {});
    /// Several of them in a row, which wraps.
    QList<LinkButton*> addFactLinks(const QString& name, const QStringList& values);
    /// A paragraph over the whole width; muted where it only explains.
    QLabel* addText(const QString& text, bool muted = false);
    LinkButton* addTextLink(const QString& text);
    void addWidget(QWidget* widget);
    /// Removes everything except the title.
    void clear();

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    void applyTheme();
    void mute(QLabel* label);
    int beginFact(const QString& name);

    Theme& m_theme;
    QLabel* m_title;
    QVBoxLayout* m_body;
    QGridLayout* m_facts = nullptr; ///< open for more facts
    QList<QLabel*> m_muted;
};

/// Lays cards out in as many equal columns as fit, in a fixed order: the first cards on top of the columns,
/// the next below them, whatever their heights are.
class CardGrid : public QLayout
{
    Q_OBJECT
public:
    explicit CardGrid(QWidget* parent = nullptr);
    ~CardGrid() override;

    void addItem(QLayoutItem* item) override { m_items.append(item); }
    [[nodiscard]] int count() const override { return static_cast<int>(m_items.size()); }
    [[nodiscard]] QLayoutItem* itemAt(int at) const override { return m_items.value(at); }
    QLayoutItem* takeAt(int at) override;
    [[nodiscard]] bool hasHeightForWidth() const override { return true; }
    [[nodiscard]] int heightForWidth(int width) const override;
    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSize() const override;
    void setGeometry(const QRect& rect) override;

private:
    int arrange(const QRect& rect, bool apply) const;

    static constexpr int kColumnWidth = 330;
    static constexpr int kMaxColumns = 4;
    static constexpr int kGap = 14;
    QList<QLayoutItem*> m_items;
};

} // namespace shardscope::ui
