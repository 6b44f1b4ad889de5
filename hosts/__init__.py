"""Madang in the agents and frameworks that people use: what does their model get to read?

`make hosts` installs them into `.hosts/`, plays one script through each and judges what reached the model. It is not
part of `make test`: it downloads more than a gigabyte of other people's programs.
"""
