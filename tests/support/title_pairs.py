"""Pairs of observation titles and whether they say the same, labelled by hand.

SAME holds groups of titles that people wrote of one thing; APART holds groups that look alike and are
different things each: another version, file, number, place, or the opposite.
"""

from __future__ import annotations

from itertools import combinations

SAME = [
    ["Fix the login timeout", "Fix the login timeout.", "fix the login timeout", "Fixed the login timeout"],
    ["Add a retry to the payment client", "Add a retry to the payment client!", "Added a retry to the payment client"],
    ["Update the README", "Update the readme", "update the README."],
    ["Rename OrderHandler to OrderFlow", "rename OrderHandler to OrderFlow", "Rename `OrderHandler` to `OrderFlow`"],
    ["Fix flaky test in checkout", "Fix flaky test in checkout.", "Fix the flaky test in checkout"],
    ["Move sessions to Redis", "Move sessions to redis", "Move the sessions to Redis"],
    ["Fix null check in parser", "fix null check in parser", "Fix null check in the parser"],
    ["Bump axios to 1.7.2", "bump axios to 1.7.2", "Bump axios to 1.7.2."],
    ["Remove dead code from the importer", "remove dead code from the importer", "Remove dead code from importer"],
    ["Document the environment variables", "document the environment variables", "Document environment variables"],
    [
        "Cache the product list for five minutes",
        "cache the product list for five minutes",
        "Cache product list for five minutes",
    ],
    ["Return 404 for unknown orders", "return 404 for unknown orders", "Return 404 for unknown orders."],
    ["Escape HTML in comments", "escape HTML in comments", "Escape html in comments!"],
    ["Split the checkout function", "split the checkout function", "Split the checkout function."],
    ["Use UTC for all timestamps", "use UTC for all timestamps", "Use UTC for all timestamps."],
    ["修复登录超时问题", "修复登录超时问题。", "修复 登录超时问题", "已修复登录超时问题"],
    ["新增订单导出功能", "新增订单导出功能。", "新增订单的导出功能"],
    ["重构配置读取", "重构配置读取。", "重构了配置读取"],
    ["修复库存为负数的问题", "修复库存为负数的问题！", "修复了库存为负数的问题"],
    ["更新部署文档", "更新部署文档。", "更新了部署文档"],
    ["优化首页加载速度", "优化首页加载速度。", "优化了首页加载速度"],
    ["添加单元测试", "添加单元测试。", "添加了单元测试"],
]
APART = [
    ["fix ffmpeg-7.1.conf", "fix ffmpeg-6.0.conf", "fix ffmpeg-5.1.conf", "fix ffmpeg-4.4.conf"],
    ["Bump django to 4.2.11", "Bump django to 5.0.3", "Bump django to 3.2.25"],
    ["Fix the login timeout on iOS", "Fix the login timeout on Android", "Fix the login timeout on Windows"],
    ["Add an index on orders.user_id", "Add an index on orders.created_at", "Add an index on users.email"],
    ["Enable the cache in staging", "Disable the cache in staging", "Enable the cache in production"],
    ["Return 404 for missing users", "Return 403 for missing users", "Return 410 for missing users"],
    ["Fix test_login.py", "Fix test_logout.py", "Fix test_signup.py", "Fix test_cart.py"],
    ["Move config to config/dev.yml", "Move config to config/prod.yml", "Move config to config/test.yml"],
    ["Use Postgres for sessions", "Use Redis for sessions", "Use Memcached for sessions"],
    ["Set the timeout to 30 seconds", "Set the timeout to 60 seconds", "Set the timeout to 5 seconds"],
    ["Rename userId to user_id", "Rename orderId to order_id", "Rename cartId to cart_id"],
    ["Handle empty input in parse_csv", "Handle empty input in parse_json", "Handle empty input in parse_xml"],
    ["Fix crash when the cart is empty", "Fix crash when the cart is full", "Fix crash when the list is empty"],
    ["Add German translations", "Add French translations", "Add Chinese translations", "Add Spanish translations"],
    ["修复 iOS 登录失败", "修复 Android 登录失败", "修复网页登录失败"],
    ["升级 axios 到 1.7.2", "升级 axios 到 1.6.0", "升级 vue 到 3.4.0"],
    ["开启缓存", "关闭缓存", "清空缓存"],
    ["新增用户导出功能", "新增订单导出功能", "新增商品导出功能", "新增日志导出功能"],
    ["修复订单金额计算错误", "修复运费金额计算错误", "修复税费金额计算错误"],
    ["删除旧的迁移脚本", "删除旧的测试脚本", "删除旧的部署脚本"],
]


def labelled() -> list[tuple[str, str, bool]]:
    """All pairs within a group, and each group's first title against those of its kind's other groups."""
    pairs = [(a, b, True) for group in SAME for a, b in combinations(group, 2)]
    pairs += [(a, b, False) for group in APART for a, b in combinations(group, 2)]
    pairs += [(a[0], b[0], False) for a, b in combinations(SAME, 2)]
    return pairs


def titles() -> list[str]:
    """Every title, each once."""
    return list(dict.fromkeys(title for group in (*SAME, *APART) for title in group))
