"""What a service is deployed with: the image, compose.yaml, the proxies, the units, the backup, alerts and boards.

test_image.py needs the image that `.ci/image` builds; the others leave out what needs a program that is not installed.
"""
