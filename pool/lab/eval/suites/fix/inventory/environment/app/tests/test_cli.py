from inventory.cli import main


def test_taking_from_an_unknown_item_fails(tmp_path, capsys):
    file = ["--file", str(tmp_path / "items.json")]
    assert main([*file, "add", "BOLT-1", "Bolt", "--quantity", "5", "--tag", "steel"]) == 0
    assert main([*file, "list"]) == 0
    assert "Bolt" in capsys.readouterr().out
    assert main([*file, "take", "NUT-1", "1"]) == 1
    assert "NUT-1" in capsys.readouterr().err
