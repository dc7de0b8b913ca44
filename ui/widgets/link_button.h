// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QAbstractButton>

class QTextLayout;

namespace shardscope::ui {

/// Text that leads somewhere: by mouse, and by Tab and Enter. It wraps, breaks only those names that are
/// longer than a line, after a dot if it can, and has its text in a context menu for copying.
class LinkButton : public QAbstractButton
{
    Q_OBJECT
public:
    explicit LinkButton(const QString& text, QWidget* parent = nullptr);

    /// What *Copy* copies, if not the text: the exact number.
    void setExactText(const QString& text) { m_exact = text; }
    [[nodiscard]] bool hasHeightForWidth() const override { return true; }
    [[nodiscard]] int heightForWidth(int width) const override;
    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void enterEvent(QEnterEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    /// Places the lines; returns the size of them.
    QSizeF layOut(QTextLayout& layout, int width) const;

    QString m_exact;
};

} // namespace shardscope::ui
