<?php
// An identity token for whoever is logged in. Needs nothing but PHP. Prints one for the external_id that it is given.

function part(string $text): string
{
    return rtrim(strtr(base64_encode($text), '+/', '-_'), '=');
}

// $more may have email, phone, and attributes: the names of those that the page may write.
function identity_token(string $externalId, string $app, string $kid, string $secret, array $more = []): string
{
    $claims = ['sub' => $externalId, 'aud' => $app, 'exp' => time() + 3600] + $more;
    $said = part(json_encode(['alg' => 'HS256', 'typ' => 'JWT', 'kid' => $kid])) . '.' . part(json_encode($claims));
    return $said . '.' . part(hash_hmac('sha256', $said, $secret, true));
}

$more = ['email' => 'ada@example.com', 'attributes' => ['plan']];
echo identity_token($argv[1], getenv('ENGAGE_APP'), getenv('IDENTITY_KID'), getenv('IDENTITY_SECRET'), $more), "\n";
