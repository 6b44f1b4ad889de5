"""Which encoding a file is in: one answer, whoever asks.

The words are those of real texts and of menus. The shares at the end are measured on names of countries, languages and
currencies (CLDR), single words and pairs of them, in every encoding: a word is often good text in two of them.
"""

from __future__ import annotations

import codecs
from functools import cache
from itertools import pairwise

import pytest
from babel import Locale
from hypothesis import given, settings
from hypothesis import strategies as st

from madang.text.encodings import (
    EncodingName,
    byte_order_mark,
    decode,
    decode_piece,
    detect_encoding,
    encode,
    replace_surrogates,
)

KOREAN = [
    "가나다",
    "아",
    "네",
    "김",
    "끝",
    "한글.txt",
    "이름,값",
    "x = 1  # 값",
    "// 주석",
    "error: 파일 없음",
    "ㅋㅋㅋ",
    "ㅠㅠ",
    "■ 공지",
    "※ 주의",
    "○ 회의 개요",
    "「법」 제1조",
    "10℃ 이하",
    "㈜한빛",
    "이름: 홍길동\r\n나이: 스물\r\n",
]
KOREAN_WITH_RARE_SYLLABLES = [
    "뷁",
    "똠방각하",
    "펲시콜라",
    "찦차를 타고 온 펲시맨과 쑛다리",
    "아햏햏",
    "믜워",
    "삵쾡이",
    "닭볶음탕",
    "괜찮습니닼ㅋㅋ",
    "샾에서 커피숖까지",
]
KOREAN_WITH_HANJA = [
    "大韓民國은 民主共和國이다.",
    "第1條 目的",
    "國漢文 混用體로 쓴 글",
    "社長 김철수",
    "父母님께",
    "李舜臣 장군",
    "東亞日報",
    "朝鮮 後期의 社會",
    "(株)한빛",
    "大韓民國 憲法",
]
# Not 谢谢 nor 学习: in GB2312 they are the bytes of two Cyrillic letters in UTF-8.
SIMPLIFIED_CHINESE = [
    "中文文本测试",
    "你好",
    "北京",
    "上海",
    "中国",
    "我们",
    "文件",
    "错误",
    "密码",
    "用户名",
    "欢迎光临",
    "今天天气很好",
    "请输入密码",
    "人工智能",
    "苹果手机",
    "公司经理",
    "电影 音乐",
    "name,价格表\n1,两百\n",
]
TRADITIONAL_CHINESE = [
    "你好",
    "台北",
    "臺灣",
    "中國",
    "中文測試",
    "我們",
    "學習",
    "檔案",
    "錯誤",
    "密碼",
    "使用者",
    "歡迎光臨",
    "今天天氣很好",
    "請輸入密碼",
    "人工智慧",
    "電影",
]
JAPANESE = [
    "こんにちは",
    "ありがとう",
    "東京",
    "日本語",
    "テスト",
    "文字化け",
    "ファイル",
    "エラー",
    "学校",
    "株式会社",
    "お元気ですか",
    "今日は良い天気です",
    "これは日本語の文章です。",
    "カタカナ",
    "漢字",
    "山田太郎",
    "電話番号",
    "検索",
]
LATIN = [
    "créée",
    "café",
    "naïve café",
    "Müller",
    "Größe",
    "Straße",
    "Ärger",
    "señor",
    "año",
    "façade",
    "élève",
    "São Paulo",
    "ação",
    "København",
    "smörgåsbord",
    "“quoted” text",
    "it\N{RIGHT SINGLE QUOTATION MARK}s",
    "50 €",
    "© 2024",
    "où",
    "être créé",
    "hétérogénéité",
    "ÀÉÈ",
]
CYRILLIC = ["Привет", "Москва", "файл", "ошибка", "Россия", "это текст"]


def cases(codec: str, texts: list[str]) -> list[object]:
    return [pytest.param(text.encode(codec), id=f"{codec} {text[:12]}") for text in texts]


@pytest.mark.parametrize(
    "data",
    [*cases("cp949", KOREAN), *cases("cp949", KOREAN_WITH_RARE_SYLLABLES), *cases("cp949", KOREAN_WITH_HANJA)],
)
def test_korean_is_recognised_however_short_or_rare(data: bytes) -> None:
    assert detect_encoding(data, is_whole=True) == "cp949"


@pytest.mark.parametrize(
    "data",
    [
        *cases("gb2312", SIMPLIFIED_CHINESE),
        *cases("big5", TRADITIONAL_CHINESE),
        *cases("euc_jp", JAPANESE),
        *cases("shift_jis", JAPANESE),
        *cases("cp1252", LATIN),
        *cases("cp1251", CYRILLIC),
        *cases("koi8_r", CYRILLIC),
    ],
)
def test_other_encodings_are_unknown_and_not_korean(data: bytes) -> None:
    assert detect_encoding(data, is_whole=True) in ("utf-8-invalid", "binary")


@pytest.mark.parametrize("cut", range(1, 12))
def test_a_sample_that_ends_inside_a_character_is_recognised(cut: int) -> None:
    data = "이름: 홍길동, 나이: 스물, 사는 곳: 서울\n".encode("cp949")

    assert detect_encoding(data[: 10 + cut], is_whole=False) == "cp949"


def test_a_file_that_ends_inside_a_character_is_not_korean() -> None:
    assert detect_encoding("이름: 홍길동".encode("cp949")[:-1], is_whole=True) == "binary"


def test_one_foreign_name_does_not_make_a_korean_file_unknown() -> None:
    text = "# © 2024 한빛\n" + "x = 1\n" * 2_000 + "# 이 함수는 값을 돌려준다.\n"

    assert detect_encoding(text.replace("©", "ⓒ").encode("cp949"), is_whole=True) == "cp949"


def test_a_few_bad_bytes_in_korean_utf_8_do_not_make_it_cp949() -> None:
    data = "나이: 스물, 이름: 홍길동\n".encode() * 3 + b"\xb0\xa1\n"

    assert detect_encoding(data, is_whole=True) != "cp949"


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_half_a_surrogate_pair_is_kept_in_the_bytes_and_replaced_in_the_text(codec: EncodingName) -> None:
    data = byte_order_mark(codec) + "가\ud83d나".encode(codec, "surrogatepass")

    assert detect_encoding(data, is_whole=True) == codec
    assert encode(decode(data, codec), codec) == data
    assert replace_surrogates(decode(data, codec)) == "가\N{REPLACEMENT CHARACTER}나"


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (b"", "utf-8"),
        (b"plain", "utf-8"),
        ("가".encode("utf-8-sig"), "utf-8-bom"),
        (codecs.BOM_UTF16_LE + b"a", "binary"),
        ("가".encode("utf-32"), "binary"),
        ("가나".encode("utf-16-le"), "binary"),
        (b"a\x00b", "binary"),
        (bytes(range(128, 256)) * 4, "binary"),
        (b"plain text, then one bad byte: \xff, and more\n" * 3, "utf-8-invalid"),
    ],
)
def test_what_is_no_korean_text(data: bytes, encoding: EncodingName) -> None:
    assert detect_encoding(data, is_whole=True) == encoding


def test_a_late_piece_of_a_file_that_began_in_ascii_is_read_as_what_it_is() -> None:
    assert decode_piece("이름: 홍길동".encode("cp949"), "utf-8") == "이름: 홍길동"
    assert "\N{REPLACEMENT CHARACTER}" in decode_piece("créée à".encode("cp1252"), "utf-8")


@given(data=st.binary(max_size=200))
@settings(max_examples=300, deadline=None)
def test_every_text_comes_back_byte_for_byte(data: bytes) -> None:
    encoding = detect_encoding(data, is_whole=True)

    if encoding != "binary":
        assert encode(decode(data, encoding), encoding) == data


@pytest.mark.parametrize(
    ("locale", "codec", "max_words", "max_pairs"),
    [
        ("zh", "gb2312", 0.08, 0.01),
        ("zh_Hant", "big5", 0.01, 0.0),
        ("ja", "euc_jp", 0.005, 0.0),
        ("ja", "shift_jis", 0.005, 0.0),
        ("fr", "cp1252", 0.005, 0.0),
        ("de", "cp1252", 0.005, 0.0),
        ("es", "cp1252", 0.005, 0.0),
        ("pl", "cp1250", 0.005, 0.0),
        ("ru", "cp1251", 0.01, 0.0),
        ("ru", "koi8_r", 0.01, 0.0),
        ("th", "tis-620", 0.03, 0.005),
    ],
)
def test_the_share_of_foreign_names_that_are_taken_for_korean(
    locale: str, codec: str, max_words: float, max_pairs: float
) -> None:
    names = _names(locale)

    assert _korean_share(names, codec) <= max_words
    assert _korean_share([f"{first} {second}" for first, second in pairwise(names)], codec) <= max_pairs


def test_the_share_of_korean_names_that_are_recognised() -> None:
    names = _names("ko")

    assert _korean_share(names, "cp949") >= 0.998
    assert _korean_share([f"{first} {second}" for first, second in pairwise(names)], "cp949") == 1


WESTERN = {
    "fr": "Le garçon a déjà mangé à la fenêtre; très fatigué, il préfère être près de sa mère, où l’été est agréable.",
    "de": "Die Größe der Tür überrascht: für Gäste, die später kommen, müssen wir das Gebäude natürlich öffnen.",
    "es": "¿Cuántos años tenía el niño? Según su mamá, él cumplió ocho en marzo; después viajó a España con mi tía.",
    "it": "La città è più bella perché c’è il caffè; però la società non può, così lunedì la novità sarà già là.",
    "pt": "A situação não é fácil: até amanhecer, o avô já tinha três opções e a mãe só pediu atenção às crianças.",
    "sv": "Vår lärare får en stor nöt på måndag; flickan går över ån, för att köpa bröd, smör, kött och öl åt pojken.",
    "da": "Børnene løber på græsset, mens bedstemor køber rødgrød, æg og brød; året går, før sommeren når øerne.",
    "fi": "Tämä päivä on hyvä: äiti lähtee töihin, isä jää kotiin ja lapset syövät tänään tätä leipää pöydällä.",
}


@pytest.mark.parametrize("text", WESTERN.values(), ids=WESTERN)
def test_western_text_of_some_length_is_recognised(text: str) -> None:
    for data in (text.encode("cp1252"), b"# plain\n" * 1_000 + text.encode("cp1252") + b"\n"):
        assert detect_encoding(data, is_whole=True) == "cp1252"
        assert encode(decode(data, "cp1252"), "cp1252") == data


@pytest.mark.parametrize(
    ("locale", "codec"),
    [
        ("pl", "cp1250"), ("cs", "cp1250"), ("cs", "iso8859_2"), ("sk", "cp1250"), ("hu", "cp1250"), ("sl", "cp1250"),
        ("hr", "cp1250"), ("ro", "cp1250"), ("tr", "cp1254"), ("lv", "cp1257"), ("lt", "cp1257"), ("et", "cp1257"),
        ("ru", "cp1251"), ("ru", "koi8_r"), ("el", "cp1253"), ("he", "cp1255"), ("ar", "cp1256"), ("th", "tis-620"),
        ("zh", "gb2312"), ("zh_Hant", "big5"), ("ja", "shift_jis"), ("ja", "euc_jp"), ("ko", "cp949"),
        ("fr", "cp850"), ("fr", "mac_roman"),
    ],
)  # fmt: skip
def test_texts_of_other_encodings_are_not_read_as_western_ones(locale: str, codec: str) -> None:
    """Where the bytes are the same letters in both, they may be."""
    for size in (1, 2, 4, 8, 12):
        for data in _joined(locale, codec, size):
            if detect_encoding(data, is_whole=True) == "cp1252":
                assert data.decode("cp1252") == data.decode(codec)


def test_one_bad_byte_in_a_text_does_not_make_it_western() -> None:
    text = "Ein Stück über Größe, schön und natürlich für Mädchen\n" * 3

    assert detect_encoding(text.encode("cp1252"), is_whole=True) == "cp1252"
    assert detect_encoding(text.encode() + b"\xff\n", is_whole=True) == "utf-8-invalid"
    assert detect_encoding(text.encode("cp1252") + b"\x81\n", is_whole=True) == "utf-8-invalid"


def _joined(locale: str, codec: str, size: int) -> list[bytes]:
    """Return names of a language, so many in each text."""
    names = [name for name in _names(locale) if _can_carry(codec, name)]
    return [", ".join(names[at : at + size]).encode(codec) for at in range(0, len(names) - size + 1, size)]


def _korean_share(texts: list[str], codec: str) -> float:
    encoded = [text.encode(codec) for text in texts if _can_carry(codec, text)]
    return sum(detect_encoding(data, is_whole=True) == "cp949" for data in encoded) / len(encoded)


def _can_carry(codec: str, text: str) -> bool:
    return "?" not in text.encode(codec, "replace").decode(codec)


@cache
def _names(locale: str) -> list[str]:
    data = Locale.parse(locale)
    names = [*data.territories.values(), *data.languages.values(), *data.currencies.values()]
    return [name for name in dict.fromkeys(map(str, names)) if not name.isascii()]
